-- What pods without a GPU ask for on a node, and what a pod's object says that concerns
-- advice. Hours that were sealed before have files without these columns: what is
-- missing there is NULL.
ALTER TABLE usage_batch ADD COLUMN others_json VARCHAR;
ALTER TABLE usage_facts ADD COLUMN about_json VARCHAR;

-- A pod on a partition in an hour, a column for each figure: as JSON an hour took twice
-- the room and six times as long to read. Hours that are there are made again from their
-- records; the store kept them for the first time one version ago.
DELETE FROM activity_node;
DROP TABLE activity_pod;
CREATE TABLE activity_pod (
  hour                 INTEGER  NOT NULL,
  cluster              VARCHAR  NOT NULL,
  node                 VARCHAR  NOT NULL,
  device               VARCHAR  NOT NULL,
  instance             UINTEGER NOT NULL,
  since_ms             BIGINT   NOT NULL,
  model                VARCHAR  NOT NULL,
  profile              VARCHAR  NOT NULL,
  mode                 VARCHAR  NOT NULL,
  slices               UINTEGER NOT NULL,
  device_slices        UINTEGER NOT NULL,
  placement_start      UINTEGER NOT NULL,
  placement_size       UINTEGER NOT NULL,
  capacity_bytes       UBIGINT,
  reserve_bytes        UBIGINT  NOT NULL,
  namespace            VARCHAR  NOT NULL,
  owner_kind           VARCHAR  NOT NULL,
  owner_name           VARCHAR  NOT NULL,
  owner_uid            VARCHAR  NOT NULL,
  pod_name             VARCHAR  NOT NULL,
  pod_uid              VARCHAR  NOT NULL,
  duration_ms          BIGINT   NOT NULL,
  measured_ms          BIGINT   NOT NULL,
  skewed_ms            BIGINT   NOT NULL,
  granted_ms           BIGINT   NOT NULL,
  holders              BIGINT   NOT NULL,
  peak_bytes           UBIGINT,
  leak_bytes           UBIGINT  NOT NULL,
  byte_ms              UBIGINT  NOT NULL,
  known_ms             BIGINT   NOT NULL,
  grade                VARCHAR  NOT NULL,
  class                VARCHAR  NOT NULL,
  verdict_json         VARCHAR  NOT NULL,
  active               VARCHAR  NOT NULL, -- spreads, as signal.Spread writes them
  sm                   VARCHAR  NOT NULL,
  dram                 VARCHAR  NOT NULL,
  tensor               VARCHAR  NOT NULL,
  held                 VARCHAR  NOT NULL,
  cpu                  VARCHAR  NOT NULL,
  cpu_request_milli    BIGINT   NOT NULL,
  memory_request_bytes UBIGINT  NOT NULL,
  memory_bytes         UBIGINT,
  about_json           VARCHAR,
  minutes_seen         UBIGINT  NOT NULL,
  minutes_told         UBIGINT  NOT NULL,
  minutes_quiet        UBIGINT  NOT NULL,
  minutes_asked        UBIGINT  NOT NULL,
  engine_json          VARCHAR
);

-- The most that pods without a GPU asked for on a node in an hour, and what of it
-- another node could have had.
CREATE TABLE activity_host (
  hour                 INTEGER NOT NULL,
  cluster              VARCHAR NOT NULL,
  node                 VARCHAR NOT NULL,
  pods                 BIGINT  NOT NULL,
  cpu_milli            BIGINT  NOT NULL,
  memory_bytes         UBIGINT NOT NULL,
  movable_pods         BIGINT  NOT NULL,
  movable_cpu_milli    BIGINT  NOT NULL,
  movable_memory_bytes UBIGINT NOT NULL
);
