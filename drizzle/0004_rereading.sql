CREATE TABLE "rewritten_identity" (
	"sync_id" uuid NOT NULL,
	"destination_identity_hash" "bytea" NOT NULL,
	"noted_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "rewritten_identity_sync_id_destination_identity_hash_pk" PRIMARY KEY("sync_id","destination_identity_hash")
);
--> statement-breakpoint
ALTER TABLE "sync_fence" ADD COLUMN "is_rereading" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "rewritten_identity" ADD CONSTRAINT "rewritten_identity_sync_id_sync_id_fk" FOREIGN KEY ("sync_id") REFERENCES "public"."sync"("id") ON DELETE no action ON UPDATE no action;