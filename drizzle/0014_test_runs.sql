CREATE TABLE "test_run" (
	"run_id" uuid PRIMARY KEY NOT NULL,
	"sync_id" uuid NOT NULL,
	"version_digest" text NOT NULL,
	"record_limit" integer NOT NULL,
	"records_with_problems" integer,
	"sealed_records" text,
	"ended_at" timestamp (3) with time zone,
	CONSTRAINT "test_run_limit" CHECK (record_limit between 1 and 100),
	CONSTRAINT "test_run_ended_iff_told" CHECK ((ended_at is null) = (records_with_problems is null)
        and (sealed_records is null or ended_at is not null))
);
--> statement-breakpoint
ALTER TABLE "test_run" ADD CONSTRAINT "test_run_run_id_run_id_fk" FOREIGN KEY ("run_id") REFERENCES "public"."run"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "test_run" ADD CONSTRAINT "test_run_version" FOREIGN KEY ("sync_id","version_digest") REFERENCES "public"."sync_version"("sync_id","digest") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "test_run_kept" ON "test_run" USING btree ("sync_id") WHERE sealed_records is not null;