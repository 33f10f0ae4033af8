CREATE TABLE "alert_channel" (
	"name" text PRIMARY KEY NOT NULL,
	"since" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"served_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "alert_channel_name" CHECK (name in ('log', 'webhook', 'email', 'sentry'))
);
--> statement-breakpoint
ALTER TABLE "alert_notice" ADD COLUMN "remaining" jsonb;--> statement-breakpoint
CREATE INDEX "alert_open" ON "alert" USING btree ("id") WHERE closed_at is null;--> statement-breakpoint
CREATE INDEX "alert_closed" ON "alert" USING btree ("closed_at") WHERE closed_at is not null;--> statement-breakpoint
CREATE INDEX "alert_acknowledged" ON "alert" USING btree ("acknowledged_at") WHERE acknowledged_at is not null;