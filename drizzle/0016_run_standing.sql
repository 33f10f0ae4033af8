DROP INDEX "run_dlq";--> statement-breakpoint
ALTER TABLE "run" ADD COLUMN "standing" text GENERATED ALWAYS AS (case status
          when 'failed' then failure_code
          when 'partial' then case when rejected + quarantined > 0 then 'partial_refused' else 'partial_in_doubt' end
          else status end) STORED NOT NULL;--> statement-breakpoint
CREATE INDEX "run_standing" ON "run" USING btree ("workspace_id","standing","cause","id");--> statement-breakpoint
CREATE INDEX "run_dlq" ON "run" USING btree ("workspace_id","standing","id") WHERE status in ('failed', 'partial') and resolved_at is null;