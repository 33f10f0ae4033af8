CREATE TABLE "command_key" (
	"workspace_id" uuid NOT NULL,
	"client_key" text NOT NULL,
	"command" text NOT NULL,
	"input_digest" text NOT NULL,
	"answer" jsonb,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "command_key_workspace_id_client_key_pk" PRIMARY KEY("workspace_id","client_key")
);
--> statement-breakpoint
ALTER TABLE "command_key" ADD CONSTRAINT "command_key_workspace_id_workspace_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspace"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "command_key_created" ON "command_key" USING btree ("created_at");