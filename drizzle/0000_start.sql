CREATE TABLE "access_token" (
	"id" uuid PRIMARY KEY NOT NULL,
	"workspace_id" uuid NOT NULL,
	"name" text NOT NULL,
	"token_hash" "bytea" NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone,
	"revoked_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "attempt" (
	"run_id" uuid NOT NULL,
	"number" integer NOT NULL,
	"epoch" bigint NOT NULL,
	"worker_id" uuid NOT NULL,
	"started_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"finished_at" timestamp (3) with time zone,
	"outcome" text,
	"failure_code" text,
	"failure_step" text,
	"failure_subject" text,
	"failure_detail" text,
	CONSTRAINT "attempt_run_id_number_pk" PRIMARY KEY("run_id","number"),
	CONSTRAINT "attempt_finished_iff_outcome" CHECK ((outcome is null) = (finished_at is null))
);
--> statement-breakpoint
CREATE TABLE "audit_entry" (
	"id" uuid PRIMARY KEY NOT NULL,
	"workspace_id" uuid NOT NULL,
	"actor" text NOT NULL,
	"action" text NOT NULL,
	"subject_type" text NOT NULL,
	"subject_id" uuid NOT NULL,
	"reason" text,
	"before" jsonb,
	"after" jsonb,
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "connection" (
	"id" uuid PRIMARY KEY NOT NULL,
	"workspace_id" uuid NOT NULL,
	"name" text NOT NULL,
	"type" text NOT NULL,
	"config" jsonb NOT NULL,
	"sealed_credentials" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "delivery" (
	"key" "bytea" NOT NULL,
	"day" date NOT NULL,
	"result" text,
	"completed_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "delivery_key_day_pk" PRIMARY KEY("key","day")
) PARTITION BY RANGE ("day");
--> statement-breakpoint
CREATE TABLE "delivery_intent" (
	"id" uuid PRIMARY KEY NOT NULL,
	"sync_id" uuid NOT NULL,
	"epoch" bigint NOT NULL,
	"run_id" uuid NOT NULL,
	"connection_id" uuid NOT NULL,
	"page_digest" "bytea" NOT NULL,
	"positions" integer[] NOT NULL,
	"record_digests" "bytea" NOT NULL,
	"destination_identities" "bytea" NOT NULL,
	"day" date NOT NULL,
	"reserved_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"quiet_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "held_record" (
	"sync_id" uuid NOT NULL,
	"page_digest" "bytea" NOT NULL,
	"position" integer NOT NULL,
	"identity_hash" "bytea" NOT NULL,
	"destination_identity_hash" "bytea" NOT NULL,
	"reason" text NOT NULL,
	"runs" integer DEFAULT 1 NOT NULL,
	"first_run_id" uuid NOT NULL,
	"last_run_id" uuid NOT NULL,
	"is_superseded" boolean DEFAULT false NOT NULL,
	"rejected_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "held_record_sync_id_page_digest_position_pk" PRIMARY KEY("sync_id","page_digest","position")
);
--> statement-breakpoint
CREATE TABLE "open_page" (
	"sync_id" uuid NOT NULL,
	"page_digest" "bytea" NOT NULL,
	"ordinal" bigint GENERATED ALWAYS AS IDENTITY (sequence name "open_page_ordinal_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"from_cursor" text NOT NULL,
	"to_cursor" text NOT NULL,
	"identities" "bytea" NOT NULL,
	"completed" "bytea",
	"is_passed" boolean DEFAULT false NOT NULL,
	"counted_run_id" uuid,
	"opened_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "open_page_sync_id_page_digest_pk" PRIMARY KEY("sync_id","page_digest")
);
--> statement-breakpoint
CREATE TABLE "publication" (
	"id" uuid PRIMARY KEY NOT NULL,
	"sync_id" uuid NOT NULL,
	"version_digest" text NOT NULL,
	"published_by" text NOT NULL,
	"approved_by" text,
	"published_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "run" (
	"id" uuid PRIMARY KEY NOT NULL,
	"workspace_id" uuid NOT NULL,
	"sync_id" uuid NOT NULL,
	"publication_id" uuid,
	"cause" text NOT NULL,
	"requested_by" text,
	"status" text DEFAULT 'queued' NOT NULL,
	"due_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', now()) NOT NULL,
	"attempt_allowance" integer NOT NULL,
	"attempts_spent" integer DEFAULT 0 NOT NULL,
	"claims" integer DEFAULT 0 NOT NULL,
	"take_overs" integer DEFAULT 0 NOT NULL,
	"epoch" bigint DEFAULT 0 NOT NULL,
	"event_n" integer DEFAULT 0 NOT NULL,
	"worker_id" uuid,
	"started_at" timestamp (3) with time zone,
	"progress_at" timestamp (3) with time zone,
	"finished_at" timestamp (3) with time zone,
	"read" bigint DEFAULT 0 NOT NULL,
	"written" bigint DEFAULT 0 NOT NULL,
	"replayed" bigint DEFAULT 0 NOT NULL,
	"rejected" bigint DEFAULT 0 NOT NULL,
	"in_doubt" bigint DEFAULT 0 NOT NULL,
	"quarantined" bigint DEFAULT 0 NOT NULL,
	"skipped" bigint DEFAULT 0 NOT NULL,
	"first_sends" bigint DEFAULT 0 NOT NULL,
	"first_sends_rejected" bigint DEFAULT 0 NOT NULL,
	"total_records" bigint,
	"failure_code" text,
	"failure_step" text,
	"failure_subject" text,
	"failure_detail" text,
	"cancel_requested_at" timestamp (3) with time zone,
	"retry_of" uuid,
	"resolved_by_run_id" uuid,
	"resolved_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "run_status" CHECK (status in ('queued', 'running', 'succeeded', 'partial', 'failed', 'canceled')),
	CONSTRAINT "run_finished_iff_final" CHECK ((status in ('succeeded', 'partial', 'failed', 'canceled')) = (finished_at is not null)),
	CONSTRAINT "run_failed_iff_failure" CHECK ((status = 'failed') = (failure_code is not null)),
	CONSTRAINT "run_running_has_worker" CHECK (status <> 'running' or worker_id is not null),
	CONSTRAINT "run_books" CHECK ("read" = written + replayed + rejected + in_doubt + quarantined + skipped
        and least(written, replayed, rejected, in_doubt, quarantined, skipped) >= 0),
	CONSTRAINT "run_succeeded_whole" CHECK (status <> 'succeeded' or (rejected = 0 and in_doubt = 0)),
	CONSTRAINT "run_attempts" CHECK (attempt_allowance between 1 and 100 and attempts_spent >= 0)
);
--> statement-breakpoint
CREATE TABLE "sync" (
	"id" uuid PRIMARY KEY NOT NULL,
	"workspace_id" uuid NOT NULL,
	"name" text NOT NULL,
	"status" text DEFAULT 'draft' NOT NULL,
	"pause_cause" text,
	"pause_reason" text,
	"paused_by" text,
	"paused_at" timestamp (3) with time zone,
	"draft" jsonb NOT NULL,
	"source_connection_id" uuid NOT NULL,
	"destination_connection_id" uuid NOT NULL,
	"publication_id" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "sync_status" CHECK (status in ('draft', 'active', 'pausing', 'paused')),
	CONSTRAINT "sync_paused_iff_cause" CHECK ((status in ('pausing', 'paused')) = (pause_cause is not null)),
	CONSTRAINT "sync_published_iff_not_draft" CHECK ((status = 'draft') = (publication_id is null))
);
--> statement-breakpoint
CREATE TABLE "sync_fence" (
	"sync_id" uuid PRIMARY KEY NOT NULL,
	"epoch" bigint DEFAULT 0 NOT NULL,
	"reached" text,
	"saved_cursor" text
);
--> statement-breakpoint
CREATE TABLE "sync_version" (
	"sync_id" uuid NOT NULL,
	"digest" text NOT NULL,
	"config" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "sync_version_sync_id_digest_pk" PRIMARY KEY("sync_id","digest")
);
--> statement-breakpoint
CREATE TABLE "worker" (
	"id" uuid PRIMARY KEY NOT NULL,
	"host" text NOT NULL,
	"pid" integer NOT NULL,
	"beat_n" bigint DEFAULT 0 NOT NULL,
	"started_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"beat_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"stopped_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "workspace" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "access_token" ADD CONSTRAINT "access_token_workspace_id_workspace_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspace"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "attempt" ADD CONSTRAINT "attempt_run_id_run_id_fk" FOREIGN KEY ("run_id") REFERENCES "public"."run"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "audit_entry" ADD CONSTRAINT "audit_entry_workspace_id_workspace_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspace"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "connection" ADD CONSTRAINT "connection_workspace_id_workspace_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspace"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "delivery_intent" ADD CONSTRAINT "delivery_intent_sync_id_sync_id_fk" FOREIGN KEY ("sync_id") REFERENCES "public"."sync"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "held_record" ADD CONSTRAINT "held_record_sync_id_sync_id_fk" FOREIGN KEY ("sync_id") REFERENCES "public"."sync"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "open_page" ADD CONSTRAINT "open_page_sync_id_sync_id_fk" FOREIGN KEY ("sync_id") REFERENCES "public"."sync"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "publication" ADD CONSTRAINT "publication_sync_id_version_digest_sync_version_sync_id_digest_fk" FOREIGN KEY ("sync_id","version_digest") REFERENCES "public"."sync_version"("sync_id","digest") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "run" ADD CONSTRAINT "run_workspace_id_workspace_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspace"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "run" ADD CONSTRAINT "run_sync_id_sync_id_fk" FOREIGN KEY ("sync_id") REFERENCES "public"."sync"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "run" ADD CONSTRAINT "run_publication_id_publication_id_fk" FOREIGN KEY ("publication_id") REFERENCES "public"."publication"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "run" ADD CONSTRAINT "run_retry_of_run_id_fk" FOREIGN KEY ("retry_of") REFERENCES "public"."run"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync" ADD CONSTRAINT "sync_workspace_id_workspace_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspace"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync" ADD CONSTRAINT "sync_source_connection_id_connection_id_fk" FOREIGN KEY ("source_connection_id") REFERENCES "public"."connection"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync" ADD CONSTRAINT "sync_destination_connection_id_connection_id_fk" FOREIGN KEY ("destination_connection_id") REFERENCES "public"."connection"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync_fence" ADD CONSTRAINT "sync_fence_sync_id_sync_id_fk" FOREIGN KEY ("sync_id") REFERENCES "public"."sync"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sync_version" ADD CONSTRAINT "sync_version_sync_id_sync_id_fk" FOREIGN KEY ("sync_id") REFERENCES "public"."sync"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "access_token_hash" ON "access_token" USING btree ("token_hash");--> statement-breakpoint
CREATE INDEX "audit_entry_subject" ON "audit_entry" USING btree ("workspace_id","subject_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "connection_name" ON "connection" USING btree ("workspace_id","name");--> statement-breakpoint
CREATE INDEX "delivery_intent_sync" ON "delivery_intent" USING btree ("sync_id","page_digest");--> statement-breakpoint
CREATE INDEX "held_record_run" ON "held_record" USING btree ("last_run_id","page_digest","position");--> statement-breakpoint
CREATE INDEX "held_record_identity" ON "held_record" USING btree ("sync_id","destination_identity_hash");--> statement-breakpoint
CREATE INDEX "open_page_order" ON "open_page" USING btree ("sync_id","ordinal");--> statement-breakpoint
CREATE INDEX "publication_sync" ON "publication" USING btree ("sync_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "run_in_flight" ON "run" USING btree ("sync_id") WHERE status in ('queued', 'running');--> statement-breakpoint
CREATE UNIQUE INDEX "run_retry_of" ON "run" USING btree ("retry_of") WHERE retry_of is not null;--> statement-breakpoint
CREATE INDEX "run_due" ON "run" USING btree ("workspace_id","due_at") WHERE status = 'queued';--> statement-breakpoint
CREATE INDEX "run_running" ON "run" USING btree ("worker_id") WHERE status = 'running';--> statement-breakpoint
CREATE INDEX "run_of_workspace" ON "run" USING btree ("workspace_id","id");--> statement-breakpoint
CREATE INDEX "run_of_sync" ON "run" USING btree ("sync_id","id");--> statement-breakpoint
CREATE INDEX "run_dlq" ON "run" USING btree ("workspace_id","id") WHERE status in ('failed', 'partial') and resolved_at is null;--> statement-breakpoint
CREATE UNIQUE INDEX "sync_name" ON "sync" USING btree ("workspace_id","name");