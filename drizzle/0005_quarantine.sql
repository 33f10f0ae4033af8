ALTER TABLE "run" DROP CONSTRAINT "run_succeeded_whole";--> statement-breakpoint
DROP INDEX "held_record_run";--> statement-breakpoint
ALTER TABLE "held_record" DROP CONSTRAINT "held_record_sync_id_page_digest_position_pk";--> statement-breakpoint
ALTER TABLE "delivery_intent" ADD COLUMN "redriven_ordinal" bigint;--> statement-breakpoint
ALTER TABLE "held_record" ADD COLUMN "id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL;--> statement-breakpoint
ALTER TABLE "held_record" ADD COLUMN "ordinal" bigint;--> statement-breakpoint
ALTER TABLE "held_record" ADD COLUMN "state" text DEFAULT 'held' NOT NULL;--> statement-breakpoint
ALTER TABLE "held_record" ADD COLUMN "counted_run_id" uuid;--> statement-breakpoint
ALTER TABLE "held_record" ADD COLUMN "sealed_payload" text;--> statement-breakpoint
ALTER TABLE "held_record" ADD COLUMN "first_rejected_at" timestamp (3) with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
ALTER TABLE "held_record" ADD COLUMN "set_aside_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "held_record" ADD COLUMN "ended_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "held_record_of_sync" ON "held_record" USING btree ("sync_id","id");--> statement-breakpoint
CREATE INDEX "held_record_redriving" ON "held_record" USING btree ("sync_id","ordinal","position") WHERE state = 'redriving' and not is_superseded;--> statement-breakpoint
CREATE INDEX "held_record_ended" ON "held_record" USING btree ("ended_at") WHERE ended_at is not null;--> statement-breakpoint
CREATE INDEX "held_record_run" ON "held_record" USING btree ("last_run_id","id");--> statement-breakpoint
ALTER TABLE "held_record" ADD CONSTRAINT "held_record_place" UNIQUE NULLS NOT DISTINCT("sync_id","page_digest","position","ordinal");--> statement-breakpoint
ALTER TABLE "held_record" ADD CONSTRAINT "held_record_state" CHECK (state in ('held', 'quarantined', 'redriving', 'delivered', 'discarded'));--> statement-breakpoint
ALTER TABLE "held_record" ADD CONSTRAINT "held_record_set_aside_iff_ordinal" CHECK ((state = 'held') = (ordinal is null));--> statement-breakpoint
ALTER TABLE "held_record" ADD CONSTRAINT "held_record_payload_while_needed" CHECK (sealed_payload is null or (state in ('quarantined', 'redriving') and not is_superseded));--> statement-breakpoint
ALTER TABLE "run" ADD CONSTRAINT "run_succeeded_whole" CHECK (status <> 'succeeded' or (rejected = 0 and in_doubt = 0 and quarantined = 0));