DROP INDEX "held_record_identity";--> statement-breakpoint
DROP INDEX "run_retry_of";--> statement-breakpoint
ALTER TABLE "delivery_intent" ADD COLUMN "identities" "bytea";--> statement-breakpoint
ALTER TABLE "delivery_intent" ADD COLUMN "delivery_class" text NOT NULL;--> statement-breakpoint
ALTER TABLE "run" ADD COLUMN "cancel_requested_by" text;--> statement-breakpoint
ALTER TABLE "run" ADD COLUMN "cancel_reason" text;--> statement-breakpoint
CREATE INDEX "held_record_destination_identity" ON "held_record" USING btree ("sync_id","destination_identity_hash");--> statement-breakpoint
CREATE INDEX "held_record_identity" ON "held_record" USING btree ("sync_id","identity_hash");--> statement-breakpoint
CREATE UNIQUE INDEX "run_retry_of" ON "run" USING btree ("retry_of") WHERE retry_of is not null and status <> 'canceled';--> statement-breakpoint
ALTER TABLE "run" ADD CONSTRAINT "run_queued_is_wanted" CHECK (status <> 'queued' or cancel_requested_at is null);