ALTER TABLE "run" ADD COLUMN "ended_in" bigint;--> statement-breakpoint
CREATE INDEX "run_in_flight_of_workspace" ON "run" USING btree ("workspace_id","id") WHERE status in ('queued', 'running');--> statement-breakpoint
CREATE INDEX "run_ended_of_workspace" ON "run" USING btree ("workspace_id","ended_in") WHERE ended_in is not null;--> statement-breakpoint
CREATE INDEX "run_ended_of_sync" ON "run" USING btree ("sync_id","ended_in") WHERE ended_in is not null;--> statement-breakpoint
CREATE FUNCTION "note_end_of_run"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.ended_in := pg_current_xact_id()::text::bigint;
	RETURN NEW;
END
$$;
--> statement-breakpoint
CREATE TRIGGER "run_ends" BEFORE INSERT OR UPDATE OF "status" ON "run" FOR EACH ROW
	WHEN (NEW.finished_at IS NOT NULL AND NEW.ended_in IS NULL) EXECUTE FUNCTION "note_end_of_run"();
