ALTER TABLE "command_key" ADD COLUMN "digest_key_id" text;--> statement-breakpoint
ALTER TABLE "connection" ADD COLUMN "refused_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "connection" ADD COLUMN "refusal_detail" text;--> statement-breakpoint
ALTER TABLE "connection" ADD COLUMN "access_epoch" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "worker" ADD COLUMN "sealing_key_id" text;--> statement-breakpoint
CREATE INDEX "command_key_digest_key" ON "command_key" USING btree ("digest_key_id");--> statement-breakpoint
CREATE INDEX "connection_sealing_key" ON "connection" USING btree ("left"(sealed_credentials, 8)) WHERE sealed_credentials is not null;--> statement-breakpoint
CREATE INDEX "test_run_sealing_key" ON "test_run" USING btree ("left"(sealed_records, 8)) WHERE sealed_records is not null;--> statement-breakpoint
CREATE INDEX "held_record_sealing_key" ON "held_record" USING btree ("left"(sealed_payload, 8)) WHERE sealed_payload is not null;--> statement-breakpoint
ALTER TABLE "connection" ADD CONSTRAINT "connection_refused_iff_told" CHECK ((refused_at is null) = (refusal_detail is null));