ALTER TABLE "delivery_intent" DROP CONSTRAINT "delivery_intent_import_has_tag";--> statement-breakpoint
ALTER TABLE "delivery_intent" ADD COLUMN "import_object" text;--> statement-breakpoint
ALTER TABLE "delivery_intent" ADD COLUMN "lookup_object" text;--> statement-breakpoint
ALTER TABLE "delivery_intent" ADD COLUMN "doubt_cause" text;--> statement-breakpoint
ALTER TABLE "sync_fence" ADD COLUMN "confirmed_keys" "bytea";--> statement-breakpoint
ALTER TABLE "delivery_intent" ADD CONSTRAINT "delivery_intent_doubt_cause" CHECK (doubt_cause in ('class_changed', 'import_out_of_reach', 'lookup_moved'));--> statement-breakpoint
ALTER TABLE "delivery_intent" ADD CONSTRAINT "delivery_intent_cause_of_doubt" CHECK (doubt_cause is null or delivery_class = 'none');--> statement-breakpoint
ALTER TABLE "delivery_intent" ADD CONSTRAINT "delivery_intent_import_has_tag" CHECK (import_tag is not null
        or (import_job_id is null and import_object is null and not is_import_open));