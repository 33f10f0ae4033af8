-- Until now every token could do everything.
ALTER TABLE "access_token" ADD COLUMN "role" text NOT NULL DEFAULT 'admin';--> statement-breakpoint
ALTER TABLE "access_token" ALTER COLUMN "role" DROP DEFAULT;--> statement-breakpoint
CREATE INDEX "access_token_of_workspace" ON "access_token" USING btree ("workspace_id","id");--> statement-breakpoint
ALTER TABLE "access_token" ADD CONSTRAINT "access_token_role" CHECK (role in ('viewer', 'operator', 'publisher', 'admin'));