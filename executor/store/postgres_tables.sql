-- What the tables need on PostgreSQL beside their columns: which role may read and write which tenant's rows.

-- Which tenants a login role may read and write; the owner of the tables needs no entry.
CREATE TABLE IF NOT EXISTS tenant_grant (
  role_name text NOT NULL, tenant text NOT NULL, PRIMARY KEY (role_name, tenant)
);

-- A role sees the rows of its tenants and no others; the owner of the tables sees all.
DO $$
DECLARE name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['event', 'claim', 'claim_release', 'tenant_head', 'checkpoint', 'attestation'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format(
      'CREATE POLICY own_tenants ON %I USING (tenant = ANY (ARRAY('
      'SELECT g.tenant FROM tenant_grant g WHERE g.role_name = session_user)))', name);
  END LOOP;
END $$;
ALTER TABLE tenant_grant ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_grants ON tenant_grant USING (role_name = session_user);
