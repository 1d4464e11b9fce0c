-- The append side on PostgreSQL: one call, one round trip, every rule inside.
--
-- Rules: positions, chain, tree and head are made here and nowhere else; a caller hands in bytes and gets back their
-- place. The tenant's head row is locked first, so commit order is position order and readers of positions miss
-- nothing. A broken rule raises PR001 with the facts as JSON in its detail.

CREATE OR REPLACE FUNCTION proofreel_refuse(facts jsonb) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'refused: %', facts ->> 'rule' USING ERRCODE = 'PR001', DETAIL = facts::text;
END $$;

CREATE OR REPLACE FUNCTION proofreel_deny(p_tenant text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'role % may not write for tenant %', session_user, p_tenant
    USING ERRCODE = 'insufficient_privilege';
END $$;

-- Takes p_claim and gives p_release back, each where it isn't null, in the transaction of the event that says so.
CREATE OR REPLACE FUNCTION proofreel_claim(
  p_tenant text, p_at bigint,
  p_claim text, p_claim_stream text, p_claim_principal text, p_claim_event text,
  p_release text, p_release_stream text, p_release_event text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  held claim%ROWTYPE;
BEGIN
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
              p_claim_event, p_at);
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
      VALUES (p_tenant, p_release, held.generation, p_release_event, p_at);
  END IF;
END $$;

-- One event. Its place comes back as 16 bytes (position, time) and the frontier: a record of columns costs more than
-- what it holds. Statements are few, because here each costs more than hashing does.
CREATE OR REPLACE FUNCTION proofreel_append_one(
  p_tenant text, p_stream text, p_version bigint, p_event_id text, p_name text, p_body bytea, p_now_us bigint)
RETURNS bytea
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  pos bigint;
  carry bigint;
  at_now bigint;
  nodes bytea;
  link bytea;
  node bytea;
  last_version bigint;
BEGIN
  IF session_user <> current_user THEN
    IF NOT EXISTS (SELECT 1 FROM tenant_grant g WHERE g.role_name = session_user AND g.tenant = p_tenant) THEN
      PERFORM proofreel_deny(p_tenant);
    END IF;
  END IF;
  SELECT h.size, h.recorded_at_us, h.frontier INTO carry, at_now, nodes
    FROM tenant_head h WHERE h.tenant = p_tenant FOR UPDATE;
  IF carry IS NULL THEN
    INSERT INTO tenant_head (tenant, size, recorded_at_us, frontier)
      VALUES (p_tenant, 0, 0, ''::bytea) ON CONFLICT DO NOTHING;
    SELECT h.size, h.recorded_at_us, h.frontier INTO carry, at_now, nodes
      FROM tenant_head h WHERE h.tenant = p_tenant FOR UPDATE;
  END IF;
  SELECT e.version, e.entry_hash INTO last_version, link FROM event e
    WHERE e.tenant = p_tenant AND e.stream = p_stream ORDER BY e.version DESC LIMIT 1;
  IF p_version IS DISTINCT FROM coalesce(last_version + 1, least(p_version, 1)) THEN
    PERFORM proofreel_refuse(jsonb_build_object(
      'rule', 'version', 'subject', p_stream, 'expected', p_version - 1, 'found', coalesce(last_version, 0)));
  END IF;
  pos := carry + 1;
  at_now := greatest(coalesce(p_now_us, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint), at_now);
  link := sha256('\x02'::bytea || coalesce(link, decode(repeat('00', 32), 'hex')) || sha256(p_body)
                 || int8send(pos) || int8send(at_now));
  node := sha256('\x0001'::bytea || substr(sha256(
            'proofreel-stream/v1'::bytea || '\x00'::bytea || convert_to(p_tenant, 'UTF8') || '\x00'::bytea
            || convert_to(p_stream, 'UTF8') || '\x00'::bytea), 1, 16) || int4send(p_version::int) || link);
  WHILE carry & 1 = 1 LOOP
    node := sha256('\x01'::bytea || substr(nodes, length(nodes) - 31) || node);
    nodes := substr(nodes, 1, length(nodes) - 32);
    carry := carry >> 1;
  END LOOP;
  nodes := nodes || node;
  UPDATE tenant_head SET size = pos, recorded_at_us = at_now, frontier = nodes WHERE tenant = p_tenant;
  INSERT INTO event (tenant, position, stream, version, event_id, name, recorded_at_us, entry_hash, body)
    VALUES (p_tenant, pos, p_stream, p_version, p_event_id, p_name, at_now, link, p_body);
  RETURN int8send(pos) || int8send(at_now) || nodes;
END $$;

-- Any number of events, and claims; returns like proofreel_append_one, of the last event.
CREATE OR REPLACE FUNCTION proofreel_append_all(
  p_tenant text, p_streams text[], p_versions bigint[], p_event_ids text[], p_names text[], p_bodies bytea[],
  p_now_us bigint,
  p_claim text, p_claim_stream text, p_claim_principal text, p_claim_event text,
  p_release text, p_release_stream text, p_release_event text)
RETURNS bytea
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
#variable_conflict use_column
DECLARE
  size_before bigint;
  at_before bigint;
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
BEGIN
  IF session_user <> current_user THEN
    IF NOT EXISTS (SELECT 1 FROM tenant_grant g WHERE g.role_name = session_user AND g.tenant = p_tenant) THEN
      PERFORM proofreel_deny(p_tenant);
    END IF;
  END IF;
  SELECT h.size, h.recorded_at_us, h.frontier INTO pos, at_before, node_list
    FROM tenant_head h WHERE h.tenant = p_tenant FOR UPDATE;
  IF NOT FOUND THEN
    INSERT INTO tenant_head (tenant, size, recorded_at_us, frontier)
      VALUES (p_tenant, 0, 0, ''::bytea) ON CONFLICT DO NOTHING;
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
  INSERT INTO event (tenant, position, stream, version, event_id, name, recorded_at_us, entry_hash, body)
    SELECT p_tenant, size_before + n, p_streams[n], p_versions[n], p_event_ids[n], p_names[n], at_now,
           entries[n], p_bodies[n] FROM generate_series(unsaved, cardinality(p_bodies)) AS n;
  PERFORM proofreel_claim(
    p_tenant, at_now, p_claim, p_claim_stream, p_claim_principal, p_claim_event,
    p_release, p_release_stream, p_release_event);
  UPDATE tenant_head h SET size = pos, recorded_at_us = at_now, frontier = node_list WHERE h.tenant = p_tenant;
  RETURN int8send(pos) || int8send(at_now) || node_list;
END $$;

-- Only roles that were granted them may append.
REVOKE ALL ON FUNCTION proofreel_append_one(text, text, bigint, text, text, bytea, bigint),
  proofreel_append_all(
    text, text[], bigint[], text[], text[], bytea[], bigint, text, text, text, text, text, text, text)
  FROM PUBLIC;
