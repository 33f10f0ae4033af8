CREATE TABLE "alert" (
	"id" uuid PRIMARY KEY NOT NULL,
	"workspace_id" uuid NOT NULL,
	"audience" text NOT NULL,
	"severity" text NOT NULL,
	"kind" text NOT NULL,
	"incident" text NOT NULL,
	"sync_id" uuid,
	"run_id" uuid,
	"title" text NOT NULL,
	"message" text NOT NULL,
	"facts" jsonb NOT NULL,
	"opened_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"closed_at" timestamp (3) with time zone,
	"closing" text,
	"acknowledged_at" timestamp (3) with time zone,
	"acknowledged_by" text,
	CONSTRAINT "alert_audience" CHECK (audience in ('tajo', 'workspace')),
	CONSTRAINT "alert_severity" CHECK (severity in ('critical', 'warning')),
	CONSTRAINT "alert_closed_iff_closing" CHECK ((closed_at is null) = (closing is null)),
	CONSTRAINT "alert_acknowledged_iff_by" CHECK ((acknowledged_at is null) = (acknowledged_by is null))
);
--> statement-breakpoint
CREATE TABLE "alert_notice" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"alert_id" uuid NOT NULL,
	"event" text NOT NULL,
	"channel" text NOT NULL,
	"tries" integer DEFAULT 0 NOT NULL,
	"due_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"claimed_until" timestamp (3) with time zone,
	"sent_at" timestamp (3) with time zone,
	"given_up_at" timestamp (3) with time zone,
	"last_error" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "alert_notice_once" UNIQUE("alert_id","event","channel"),
	CONSTRAINT "alert_notice_event" CHECK (event in ('opened', 'closed')),
	CONSTRAINT "alert_notice_channel" CHECK (channel in ('log', 'webhook', 'email', 'sentry')),
	CONSTRAINT "alert_notice_one_end" CHECK (sent_at is null or given_up_at is null)
);
--> statement-breakpoint
CREATE TABLE "watch_check" (
	"name" text PRIMARY KEY NOT NULL,
	"slot_at" timestamp (3) with time zone NOT NULL,
	"started_at" timestamp (3) with time zone NOT NULL,
	"finished_at" timestamp (3) with time zone,
	"outcome" jsonb
);
--> statement-breakpoint
ALTER TABLE "access_token" ADD COLUMN "is_operator" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "connection" ADD COLUMN "disconnected_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "sync" ADD COLUMN "paused_by_run_id" uuid;--> statement-breakpoint
ALTER TABLE "sync" ADD COLUMN "activated_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "alert" ADD CONSTRAINT "alert_workspace_id_workspace_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspace"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "alert" ADD CONSTRAINT "alert_sync_id_sync_id_fk" FOREIGN KEY ("sync_id") REFERENCES "public"."sync"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "alert_notice" ADD CONSTRAINT "alert_notice_alert_id_alert_id_fk" FOREIGN KEY ("alert_id") REFERENCES "public"."alert"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "alert_open_incident" ON "alert" USING btree ("incident") WHERE closed_at is null;--> statement-breakpoint
CREATE INDEX "alert_of_workspace" ON "alert" USING btree ("workspace_id","id");--> statement-breakpoint
CREATE INDEX "alert_notice_due" ON "alert_notice" USING btree ("channel","due_at") WHERE sent_at is null and given_up_at is null;--> statement-breakpoint
CREATE INDEX "audit_entry_of_workspace" ON "audit_entry" USING btree ("workspace_id","id");--> statement-breakpoint
CREATE INDEX "run_finished" ON "run" USING btree ("sync_id","finished_at");--> statement-breakpoint
CREATE INDEX "run_succeeded" ON "run" USING btree ("workspace_id","finished_at") WHERE status = 'succeeded';--> statement-breakpoint
UPDATE "sync" SET "activated_at" = "publication"."published_at" FROM "publication" WHERE "publication"."id" = "sync"."publication_id";
