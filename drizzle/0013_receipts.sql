CREATE TABLE "ended_page" (
	"sync_id" uuid NOT NULL,
	"page_digest" "bytea" NOT NULL,
	"ordinal" bigint NOT NULL,
	"identities" "bytea" NOT NULL,
	"opened_at" timestamp (3) with time zone NOT NULL,
	"ended_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "ended_page_sync_id_page_digest_ordinal_pk" PRIMARY KEY("sync_id","page_digest","ordinal")
);
--> statement-breakpoint
ALTER TABLE "ended_page" ADD CONSTRAINT "ended_page_sync_id_sync_id_fk" FOREIGN KEY ("sync_id") REFERENCES "public"."sync"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "ended_page_ended" ON "ended_page" USING btree ("ended_at");--> statement-breakpoint
CREATE FUNCTION "remember_ended_page"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO "ended_page" ("sync_id", "page_digest", "ordinal", "identities", "opened_at")
	SELECT "sync_id", "page_digest", "ordinal", "identities", "opened_at" FROM "gone";
	RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER "open_page_ended" AFTER DELETE ON "open_page" REFERENCING OLD TABLE AS "gone"
	FOR EACH STATEMENT EXECUTE FUNCTION "remember_ended_page"();
