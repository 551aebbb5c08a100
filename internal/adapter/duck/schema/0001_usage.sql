-- The usage journal: what agents sent, kept as it came. Its rows are never
-- updated; a sealed hour moves to Parquet files as a whole.
--
-- hour is the hour (since 1970, UTC) in which the batch began. Every row of a
-- batch has it, so one hour is read, sealed and deleted by one column. batch
-- numbers batches in the order of their arrival; line is the place of a row among
-- those of its kind in its batch. Times are Unix milliseconds, durations
-- milliseconds, byte_ms byte-milliseconds. NULL is unknown, never 0. Columns that
-- end in _json hold rare nested parts of a record in their wire form.
--
-- What is the same minute after minute (how a partition looks, who a holder is,
-- what a grant says, what a pod belongs to) is written once per hour and named by a
-- number (place, owner, entitlement, facts). The same words may stand there twice,
-- after a restart.

CREATE TABLE usage_place (
  hour                     INTEGER  NOT NULL,
  id                       BIGINT   NOT NULL,
  device                   VARCHAR  NOT NULL,
  instance                 UINTEGER NOT NULL,
  since_ms                 BIGINT   NOT NULL,
  names_json               VARCHAR,
  slot                     VARCHAR  NOT NULL,
  model                    VARCHAR  NOT NULL,
  profile                  VARCHAR  NOT NULL,
  placement_start          UINTEGER NOT NULL,
  placement_size           UINTEGER NOT NULL,
  slices                   UINTEGER NOT NULL,
  device_slices            UINTEGER NOT NULL,
  stranded_slices          UINTEGER NOT NULL,
  mig_parent               BOOLEAN  NOT NULL,
  mode                     VARCHAR  NOT NULL,
  replicas                 BIGINT,
  capacity_bytes           UBIGINT,
  estimated_capacity_bytes UBIGINT
);

CREATE TABLE usage_owner (
  hour      INTEGER NOT NULL,
  id        BIGINT  NOT NULL,
  kind      VARCHAR NOT NULL,
  pod_uid   VARCHAR NOT NULL,
  namespace VARCHAR NOT NULL,
  pod       VARCHAR NOT NULL,
  container VARCHAR NOT NULL,
  unit      VARCHAR NOT NULL
);

CREATE TABLE usage_entitlement (
  hour            INTEGER NOT NULL,
  id              BIGINT  NOT NULL,
  owner           BIGINT  NOT NULL,
  containers_json VARCHAR,
  source          VARCHAR NOT NULL,
  resource        VARCHAR NOT NULL,
  device_ids_json VARCHAR,
  claim           VARCHAR NOT NULL,
  mode            VARCHAR NOT NULL,
  replicas        BIGINT  NOT NULL,
  reserved_num    UBIGINT NOT NULL,
  reserved_den    UBIGINT NOT NULL,
  reserved_bytes  UBIGINT,
  limit_bytes     UBIGINT,
  admin           BOOLEAN NOT NULL
);

-- To which workload a pod belongs, and its labels that are cost dimensions.
CREATE TABLE usage_facts (
  hour        INTEGER NOT NULL,
  id          BIGINT  NOT NULL,
  owner_kind  VARCHAR NOT NULL,
  owner_name  VARCHAR NOT NULL,
  owner_uid   VARCHAR NOT NULL,
  labels_json VARCHAR
);

CREATE TABLE usage_batch (
  hour               INTEGER NOT NULL,
  batch              BIGINT  NOT NULL,
  agent              VARCHAR NOT NULL,
  boot               VARCHAR NOT NULL,
  seq                UBIGINT NOT NULL,
  version            BIGINT  NOT NULL,
  cluster            VARCHAR NOT NULL,
  node               VARCHAR NOT NULL,
  start_ms           BIGINT  NOT NULL,
  duration_ms        BIGINT  NOT NULL,
  interval_ms        BIGINT  NOT NULL,
  provider_id        VARCHAR NOT NULL,
  shape_json         VARCHAR,
  unschedulable_json VARCHAR
);

CREATE TABLE usage_partition (
  hour                 INTEGER  NOT NULL,
  batch                BIGINT   NOT NULL,
  line                 UINTEGER NOT NULL,
  place                BIGINT   NOT NULL,
  start_ms             BIGINT   NOT NULL,
  duration_ms          BIGINT   NOT NULL,
  measured_ms          BIGINT   NOT NULL,
  unmeasured_ms        BIGINT   NOT NULL,
  unavailable_ms       BIGINT   NOT NULL,
  no_memory_ms         BIGINT   NOT NULL,
  reserve_unknown_ms   BIGINT   NOT NULL,
  grants_unknown_ms    BIGINT   NOT NULL,
  reasons_json         VARCHAR,
  capacity_byte_ms     UBIGINT  NOT NULL,
  reserved_byte_ms     UBIGINT  NOT NULL,
  used_byte_ms         UBIGINT  NOT NULL,
  unattributed_byte_ms UBIGINT  NOT NULL,
  free_byte_ms         UBIGINT  NOT NULL,
  grade                VARCHAR  NOT NULL,
  grade_ms_json        VARCHAR,
  busy                 DOUBLE,
  memory_busy          DOUBLE,
  engine_active        DOUBLE,
  sm_active            DOUBLE,
  sm_occupancy         DOUBLE,
  tensor_active        DOUBLE,
  dram_active          DOUBLE,
  signals_known_ms     BIGINT   NOT NULL,
  energy_mj            UBIGINT,
  events_json          VARCHAR
);

CREATE TABLE usage_holder (
  hour              INTEGER  NOT NULL,
  batch             BIGINT   NOT NULL,
  line              UINTEGER NOT NULL,
  place             BIGINT   NOT NULL,
  start_ms          BIGINT   NOT NULL,
  duration_ms       BIGINT   NOT NULL,
  owner             BIGINT   NOT NULL,
  leak              BOOLEAN  NOT NULL,
  present_ms        BIGINT   NOT NULL,
  known_ms          BIGINT   NOT NULL,
  byte_ms           UBIGINT  NOT NULL,
  peak_bytes        UBIGINT  NOT NULL,
  grade             VARCHAR  NOT NULL,
  grade_ms_json     VARCHAR,
  sm_ms             DOUBLE   NOT NULL,
  sm_known_ms       BIGINT   NOT NULL,
  accounted_byte_ms UBIGINT  NOT NULL
);

CREATE TABLE usage_grant (
  hour        INTEGER  NOT NULL,
  batch       BIGINT   NOT NULL,
  line        UINTEGER NOT NULL,
  place       BIGINT   NOT NULL,
  start_ms    BIGINT   NOT NULL,
  duration_ms BIGINT   NOT NULL,
  entitlement BIGINT   NOT NULL,
  granted_ms  BIGINT   NOT NULL
);

CREATE TABLE usage_pod (
  hour                   INTEGER  NOT NULL,
  batch                  BIGINT   NOT NULL,
  line                   UINTEGER NOT NULL,
  start_ms               BIGINT   NOT NULL,
  duration_ms            BIGINT   NOT NULL,
  owner                  BIGINT   NOT NULL,
  facts                  BIGINT   NOT NULL,
  present_ms             BIGINT   NOT NULL,
  unmeasured_ms          BIGINT   NOT NULL,
  cpu_nanos              UBIGINT  NOT NULL,
  memory_byte_ms         UBIGINT  NOT NULL,
  cpu_request_milli_ms   BIGINT   NOT NULL,
  memory_request_byte_ms UBIGINT  NOT NULL
);

CREATE TABLE usage_finding (
  hour            INTEGER  NOT NULL,
  batch           BIGINT   NOT NULL,
  line            UINTEGER NOT NULL,
  kind            VARCHAR  NOT NULL,
  severity        VARCHAR  NOT NULL,
  owner           BIGINT   NOT NULL,
  partition_key   VARCHAR  NOT NULL,
  partitions_json VARCHAR,
  device          VARCHAR  NOT NULL,
  victims_json    VARCHAR,
  pid             BIGINT   NOT NULL,
  bytes           UBIGINT,
  count           BIGINT   NOT NULL,
  resource        VARCHAR  NOT NULL,
  detail          VARCHAR  NOT NULL,
  evidence_json   VARCHAR,
  for_ms          BIGINT   NOT NULL
);

-- A gap says that a time has no records. The batch that brought it is copied
-- here, and stays when its hour is sealed, until the hour is dropped: a gap of
-- days is asked for by hours far behind its own.
CREATE TABLE usage_gap (
  hour               INTEGER NOT NULL,
  batch              BIGINT  NOT NULL,
  agent              VARCHAR NOT NULL,
  boot               VARCHAR NOT NULL,
  seq                UBIGINT NOT NULL,
  version            BIGINT  NOT NULL,
  cluster            VARCHAR NOT NULL,
  node               VARCHAR NOT NULL,
  start_ms           BIGINT  NOT NULL,
  duration_ms        BIGINT  NOT NULL,
  interval_ms        BIGINT  NOT NULL,
  provider_id        VARCHAR NOT NULL,
  shape_json         VARCHAR,
  unschedulable_json VARCHAR,
  reason             VARCHAR NOT NULL,
  gap_start_ms       BIGINT  NOT NULL,
  gap_duration_ms    BIGINT  NOT NULL,
  gap_boot           VARCHAR NOT NULL,
  gap_first_seq      UBIGINT NOT NULL,
  gap_last_seq       UBIGINT NOT NULL
);

-- What stood behind the names of nodes, from the batches as they come: the
-- beginning of the first window or gap, the end of the last, and the sampling
-- interval of that; created_ms is when its object was made, the first of them, 0
-- where none is told. provider_id is empty where no record says it. It outlives the
-- hours that it was learnt from.
CREATE TABLE usage_machine (
  cluster     VARCHAR NOT NULL,
  node        VARCHAR NOT NULL,
  provider_id VARCHAR NOT NULL,
  first_ms    BIGINT  NOT NULL,
  last_ms     BIGINT  NOT NULL,
  interval_ms BIGINT  NOT NULL,
  created_ms  BIGINT  NOT NULL,
  PRIMARY KEY (cluster, node, provider_id)
);

-- What a machine was said to be, each time that it was said: from_ms is the
-- beginning of the window, shape the number of a usage_shape_text. So it does not
-- matter in which order batches come. When hours are dropped, what only repeats
-- the time before it goes, too; the rest outlives them.
CREATE TABLE usage_shape (
  cluster     VARCHAR NOT NULL,
  node        VARCHAR NOT NULL,
  provider_id VARCHAR NOT NULL,
  from_ms     BIGINT  NOT NULL,
  shape       BIGINT  NOT NULL
);

-- The wire form of a shape, by its number. The same text may stand there twice.
CREATE TABLE usage_shape_text (
  id         BIGINT  NOT NULL,
  shape_json VARCHAR NOT NULL
);

-- Which numbers of a boot have been counted: all from 1 to seq, without those in
-- missing_json ([{"first":2,"last":3}, ...]). Written with the rows, in the same
-- transaction. It outlives the rows: a batch that comes again years later is
-- still known.
CREATE TABLE usage_watermark (
  agent        VARCHAR NOT NULL,
  boot         VARCHAR NOT NULL,
  seq          UBIGINT NOT NULL,
  missing_json VARCHAR,
  PRIMARY KEY (agent, boot)
);

-- The next number of a batch and of a place, owner, entitlement, facts or shape:
-- none is ever given twice, so rows of a sealed hour and late ones never meet under one number.
CREATE TABLE usage_counter (
  next_batch BIGINT NOT NULL,
  next_id    BIGINT NOT NULL
);
INSERT INTO usage_counter VALUES (1, 1);

-- Hours whose rows lie in Parquet files. Only what is listed here counts; files
-- that no row names are left over from a seal that did not come to its end.
CREATE TABLE usage_sealed (
  hour      INTEGER NOT NULL,
  directory VARCHAR NOT NULL,
  batches   BIGINT  NOT NULL,
  bytes     BIGINT  NOT NULL,
  until_ms  BIGINT  NOT NULL -- the end of the window that reaches furthest
);
