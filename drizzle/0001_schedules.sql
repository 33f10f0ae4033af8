CREATE TABLE "sync_schedule" (
	"sync_id" uuid PRIMARY KEY NOT NULL,
	"schedule" jsonb,
	"anchor_at" timestamp (3) with time zone NOT NULL,
	"slot_at" timestamp (3) with time zone,
	"fired_at" timestamp (3) with time zone,
	"coalesced" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "sync_schedule_slot_of_schedule" CHECK (slot_at is null or schedule is not null)
);
--> statement-breakpoint
ALTER TABLE "run" ADD COLUMN "is_catching_up" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "sync_schedule" ADD CONSTRAINT "sync_schedule_sync_id_sync_id_fk" FOREIGN KEY ("sync_id") REFERENCES "public"."sync"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "sync_schedule_slot" ON "sync_schedule" USING btree ("slot_at") WHERE slot_at is not null;