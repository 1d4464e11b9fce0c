-- The append side on PostgreSQL: one call, one round trip, every rule inside.
--
-- Rules: positions, chain, tree and head are made here and nowhere else; a caller hands in bytes and gets back their
-- place. The tenant's head row is locked first, so commit order is position order and readers of positions miss
-- nothing. A broken rule raises PR001 with the facts as JSON in its detail.

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

CREATE OR REPLACE FUNCTION proofreel_refuse(facts jsonb) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'refused: %', facts ->> 'rule' USING ERRCODE = 'PR001', DETAIL = facts::text;
END $$;

CREATE OR REPLACE FUNCTION proofreel_append(
  p_tenant text, p_streams text[], p_versions bigint[], p_event_ids text[], p_names text[], p_bodies bytea[],
  p_now_us bigint,
  p_claim text, p_claim_stream text, p_claim_principal text, p_claim_event text,
  p_release text, p_release_stream text, p_release_event text,
  OUT first_position bigint, OUT last_position bigint, OUT at_us bigint, OUT log_root bytea)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
#variable_conflict use_column
DECLARE
  size_before bigint;
  at_before bigint;
  held claim%ROWTYPE;
  pos bigint;
  at_now bigint;
  node_list bytea;
  stream_now text := NULL;
  stream_tag bytea;
  last_version bigint;
  previous bytea;
  entries bytea[] := '{}';
  unsaved int := 1;
  node bytea;
  carry bigint;
  top bytea;
  k int;
BEGIN
  IF session_user <> current_user AND NOT EXISTS (
    SELECT 1 FROM tenant_grant g WHERE g.role_name = session_user AND g.tenant = p_tenant
  ) THEN
    RAISE EXCEPTION 'role % may not write for tenant %', session_user, p_tenant
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  SELECT h.size, h.recorded_at_us, h.frontier INTO pos, at_before, node_list
    FROM tenant_head h WHERE h.tenant = p_tenant FOR UPDATE;
  IF NOT FOUND THEN
    INSERT INTO tenant_head (tenant, size, recorded_at_us, root, frontier)
      VALUES (p_tenant, 0, 0, sha256(''::bytea), ''::bytea) ON CONFLICT DO NOTHING;
    SELECT h.size, h.recorded_at_us, h.frontier INTO pos, at_before, node_list
      FROM tenant_head h WHERE h.tenant = p_tenant FOR UPDATE;
  END IF;
  size_before := pos;
  at_now := greatest(
    coalesce(p_now_us, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint), at_before);

  FOR i IN 1 .. cardinality(p_bodies) LOOP
    IF stream_now IS DISTINCT FROM p_streams[i] THEN
      IF i > 1 THEN
        -- The stream's tail is looked up below, so what this call has made so far must be in the table.
        INSERT INTO event (tenant, position, stream, version, event_id, name, recorded_at_us, entry_hash, body)
          SELECT p_tenant, size_before + n, p_streams[n], p_versions[n], p_event_ids[n], p_names[n], at_now,
                 entries[n], p_bodies[n] FROM generate_series(unsaved, i - 1) AS n;
        unsaved := i;
      END IF;
      stream_now := p_streams[i];
      stream_tag := substr(sha256(
        'proofreel-stream/v1'::bytea || '\x00'::bytea || convert_to(p_tenant, 'UTF8') || '\x00'::bytea
        || convert_to(stream_now, 'UTF8') || '\x00'::bytea), 1, 16);
      SELECT e.version, e.entry_hash INTO last_version, previous FROM event e
        WHERE e.tenant = p_tenant AND e.stream = stream_now ORDER BY e.version DESC LIMIT 1;
      IF NOT FOUND THEN
        last_version := CASE WHEN p_versions[i] = 0 THEN -1 ELSE 0 END;
        previous := decode(repeat('00', 32), 'hex');
      END IF;
    END IF;
    IF p_versions[i] <> last_version + 1 THEN
      PERFORM proofreel_refuse(jsonb_build_object(
        'rule', 'version', 'subject', stream_now, 'expected', p_versions[i] - 1, 'found', last_version));
    END IF;
    carry := pos;
    pos := pos + 1;
    last_version := last_version + 1;
    previous := sha256('\x02'::bytea || previous || sha256(p_bodies[i]) || int8send(pos) || int8send(at_now));
    entries[i] := previous;
    node := sha256('\x0001'::bytea || stream_tag || int4send(last_version::int) || previous);
    WHILE carry & 1 = 1 LOOP
      node := sha256('\x01'::bytea || substr(node_list, length(node_list) - 31) || node);
      node_list := substr(node_list, 1, length(node_list) - 32);
      carry := carry >> 1;
    END LOOP;
    node_list := node_list || node;
  END LOOP;
  IF unsaved = cardinality(p_bodies) THEN
    -- One event: plain values cost a fraction of a set of rows.
    INSERT INTO event (tenant, position, stream, version, event_id, name, recorded_at_us, entry_hash, body)
      VALUES (p_tenant, pos, stream_now, last_version, p_event_ids[unsaved], p_names[unsaved], at_now,
              previous, p_bodies[unsaved]);
  ELSE
    INSERT INTO event (tenant, position, stream, version, event_id, name, recorded_at_us, entry_hash, body)
      SELECT p_tenant, size_before + n, p_streams[n], p_versions[n], p_event_ids[n], p_names[n], at_now,
             entries[n], p_bodies[n] FROM generate_series(unsaved, cardinality(p_bodies)) AS n;
  END IF;

  IF p_claim IS NOT NULL THEN
    SELECT * INTO held FROM claim c
      WHERE c.tenant = p_tenant AND c.effect_key = p_claim ORDER BY c.generation DESC LIMIT 1;
    IF FOUND AND NOT EXISTS (
      SELECT 1 FROM claim_release r
      WHERE r.tenant = p_tenant AND r.effect_key = p_claim AND r.generation = held.generation
    ) THEN
      PERFORM proofreel_refuse(jsonb_build_object(
        'rule', 'claim', 'subject', p_claim, 'holder_stream', held.stream,
        'holder_principal', held.principal, 'since_us', held.claimed_at_us));
    END IF;
    INSERT INTO claim (tenant, effect_key, generation, stream, principal, event_id, claimed_at_us)
      VALUES (p_tenant, p_claim, coalesce(held.generation, 0) + 1, p_claim_stream, p_claim_principal,
              p_claim_event, at_now);
  END IF;

  IF p_release IS NOT NULL THEN
    SELECT * INTO held FROM claim c
      WHERE c.tenant = p_tenant AND c.effect_key = p_release ORDER BY c.generation DESC LIMIT 1;
    IF NOT FOUND OR held.stream <> p_release_stream OR EXISTS (
      SELECT 1 FROM claim_release r
      WHERE r.tenant = p_tenant AND r.effect_key = p_release AND r.generation = held.generation
    ) THEN
      PERFORM proofreel_refuse(jsonb_build_object(
        'rule', 'release', 'subject', p_release, 'holder_stream', coalesce(held.stream, '')));
    END IF;
    INSERT INTO claim_release (tenant, effect_key, generation, event_id, released_at_us)
      VALUES (p_tenant, p_release, held.generation, p_release_event, at_now);
  END IF;

  k := length(node_list) - 32;
  top := substr(node_list, k + 1);
  WHILE k > 0 LOOP
    k := k - 32;
    top := sha256('\x01'::bytea || substr(node_list, k + 1, 32) || top);
  END LOOP;
  UPDATE tenant_head h SET size = pos, recorded_at_us = at_now, root = top, frontier = node_list
    WHERE h.tenant = p_tenant;
  first_position := size_before + 1;
  last_position := pos;
  at_us := at_now;
  log_root := top;
END $$;

-- Only roles that were granted it may append.
REVOKE ALL ON FUNCTION proofreel_append(
  text, text[], bigint[], text[], text[], bytea[], bigint, text, text, text, text, text, text, text) FROM PUBLIC;
