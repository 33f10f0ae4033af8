CREATE TABLE "publication_request" (
	"id" uuid PRIMARY KEY NOT NULL,
	"workspace_id" uuid NOT NULL,
	"sync_id" uuid NOT NULL,
	"version_digest" text NOT NULL,
	"status" text DEFAULT 'open' NOT NULL,
	"reason" text NOT NULL,
	"requested_by" text NOT NULL,
	"requested_by_token_id" uuid NOT NULL,
	"requested_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"closed_by" text,
	"closed_by_token_id" uuid,
	"closed_at" timestamp (3) with time zone,
	"closing_reason" text,
	"publication_id" uuid,
	CONSTRAINT "publication_request_status" CHECK (status in ('open', 'approved', 'refused', 'withdrawn', 'superseded')),
	CONSTRAINT "publication_request_closed_iff_not_open" CHECK ((status = 'open') = (closed_at is null)
        and (closed_at is null) = (closed_by is null)
        and (closed_at is null) = (closed_by_token_id is null)),
	CONSTRAINT "publication_request_approved_iff_published" CHECK ((status = 'approved') = (publication_id is not null)),
	CONSTRAINT "publication_request_four_eyes" CHECK (status not in ('approved', 'refused') or closed_by_token_id <> requested_by_token_id)
);
--> statement-breakpoint
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
ALTER TABLE "workspace" ADD COLUMN "publishing_needs_approval" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "publication_request" ADD CONSTRAINT "publication_request_workspace_id_workspace_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspace"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "publication_request" ADD CONSTRAINT "publication_request_publication_id_publication_id_fk" FOREIGN KEY ("publication_id") REFERENCES "public"."publication"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "publication_request" ADD CONSTRAINT "publication_request_version" FOREIGN KEY ("sync_id","version_digest") REFERENCES "public"."sync_version"("sync_id","digest") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "test_run" ADD CONSTRAINT "test_run_run_id_run_id_fk" FOREIGN KEY ("run_id") REFERENCES "public"."run"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "test_run" ADD CONSTRAINT "test_run_version" FOREIGN KEY ("sync_id","version_digest") REFERENCES "public"."sync_version"("sync_id","digest") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "publication_request_open" ON "publication_request" USING btree ("sync_id") WHERE status = 'open';--> statement-breakpoint
CREATE UNIQUE INDEX "publication_request_publication" ON "publication_request" USING btree ("publication_id");--> statement-breakpoint
CREATE INDEX "publication_request_workspace" ON "publication_request" USING btree ("workspace_id","id");--> statement-breakpoint
CREATE INDEX "publication_request_sync" ON "publication_request" USING btree ("sync_id","id");--> statement-breakpoint
CREATE INDEX "test_run_kept" ON "test_run" USING btree ("sync_id") WHERE sealed_records is not null;