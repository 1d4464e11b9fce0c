-- From layout 1 to layout 2, after the functions of postgres.sql were made: the root follows from the frontier, and who
-- might append by the one function of layout 1 may append by those of layout 2.

DO $$
DECLARE grantee text;
BEGIN
  FOR grantee IN
    SELECT acl.grantee::regrole::text
    FROM pg_proc p, aclexplode(p.proacl) acl
    WHERE p.oid = to_regproc('proofreel_append') AND acl.privilege_type = 'EXECUTE' AND acl.grantee NOT IN (0, p.proowner)
  LOOP
    EXECUTE 'GRANT EXECUTE ON FUNCTION'
      ' proofreel_append_one(text, text, bigint, text, text, bytea, bigint),'
      ' proofreel_append_all(text, text[], bigint[], text[], text[], bytea[], bigint,'
      ' text, text, text, text, text, text, text) TO ' || grantee;
  END LOOP;
END $$;
DROP FUNCTION proofreel_append;
ALTER TABLE tenant_head DROP COLUMN root;
INSERT INTO record_format (format) VALUES (2);
