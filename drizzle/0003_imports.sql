ALTER TABLE "delivery_intent" ADD COLUMN "import_tag" uuid;--> statement-breakpoint
ALTER TABLE "delivery_intent" ADD COLUMN "import_job_id" text;--> statement-breakpoint
ALTER TABLE "delivery_intent" ADD COLUMN "is_import_open" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "delivery_intent_open_import" ON "delivery_intent" USING btree ("connection_id") WHERE is_import_open;--> statement-breakpoint
ALTER TABLE "delivery_intent" ADD CONSTRAINT "delivery_intent_import_has_tag" CHECK (import_tag is not null or (import_job_id is null and not is_import_open));