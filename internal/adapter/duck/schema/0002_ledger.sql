-- The ledger: hours of nodes that are to be rated, what rating booked, what the
-- nodes cost, closed months, bills.
--
-- hour is the hour since 1970 (UTC) of the time that is charged for. Times are Unix
-- milliseconds, money is billionths of a currency's unit, byte_ms byte-milliseconds.
-- NULL is unknown or none, as the column says, never 0. Columns that end in _json
-- hold nested parts in their wire form. There is no index on anything that grows
-- with the hours: one process writes, and checks what it adds to.

-- Hours of nodes that are to be rated: a row each time that something arrived for
-- one. mark is the number of the newest arrival (usage_counter.next_batch orders
-- them). A rating takes away the rows that it has seen.
CREATE TABLE ledger_due (
  cluster VARCHAR NOT NULL,
  node    VARCHAR NOT NULL,
  hour    INTEGER NOT NULL,
  mark    BIGINT  NOT NULL
);

-- What only some hundred combinations exist of is one number on a line: its sort.
-- account is that of lines that are no workload's, NULL for those of workloads;
-- origin is the account that a shared part comes from; priced says that there is an
-- amount.
CREATE TABLE ledger_sort (
  id          INTEGER NOT NULL,
  cluster_set VARCHAR NOT NULL,
  kind        VARCHAR NOT NULL,
  step        VARCHAR NOT NULL,
  resource    VARCHAR NOT NULL,
  entry_kind  VARCHAR NOT NULL,
  holder_kind VARCHAR NOT NULL,
  account     VARCHAR,
  origin      VARCHAR NOT NULL,
  note        VARCHAR NOT NULL,
  policy      VARCHAR NOT NULL,
  mode        VARCHAR NOT NULL,
  currency    VARCHAR NOT NULL,
  price       VARCHAR NOT NULL,
  grade       VARCHAR NOT NULL,
  priced      BOOLEAN NOT NULL
);

-- What a pod belongs to and its labels that are cost dimensions, by number. The
-- same may stand there twice, after a restart.
CREATE TABLE ledger_pod (
  id          BIGINT  NOT NULL,
  owner_kind  VARCHAR NOT NULL,
  owner_name  VARCHAR NOT NULL,
  owner_uid   VARCHAR NOT NULL,
  labels_json VARCHAR
);

-- Texts that repeat hour after hour (where a price came from, what a node is, its
-- slots), by number. The same may stand there twice, after a restart.
CREATE TABLE ledger_word (
  id   BIGINT  NOT NULL,
  text VARCHAR NOT NULL
);

-- What each rating was made from (a line's revision), by number.
CREATE TABLE ledger_rating (
  id      BIGINT  NOT NULL,
  hour    INTEGER NOT NULL,
  records VARCHAR NOT NULL,
  prices  VARCHAR NOT NULL,
  policy  VARCHAR NOT NULL,
  bill    VARCHAR NOT NULL,
  at_ms   BIGINT  NOT NULL,
  by_whom VARCHAR NOT NULL,
  reason  VARCHAR NOT NULL
);

-- The journal of charges: one row is one line, only ever added. Rows may be written
-- again in another order (by GPU within a day), never changed but for pod, which is
-- no part of the line: it says what the pod was in that hour, as far as is known now.
--
-- hour_ms is NULL where it is the beginning of hour; account where it follows from
-- sort, namespace, pod and pod_uid; note where it is that of sort. graded says that
-- the parts by grade are in the columns that end the row, by grade in their order
-- from measured to unmeasured; else all of the line is of the grade of its sort.
CREATE TABLE ledger_line (
  hour                 INTEGER  NOT NULL,
  start_ms             BIGINT   NOT NULL,
  duration_ms          BIGINT   NOT NULL,
  hour_ms              BIGINT,
  id                   UUID     NOT NULL,
  entry                UUID     NOT NULL,
  adjusts              UUID,
  seq                  INTEGER  NOT NULL,
  booking              INTEGER  NOT NULL,
  period               INTEGER  NOT NULL,
  sort                 INTEGER  NOT NULL,
  rating               BIGINT   NOT NULL,
  basis                BIGINT,
  cluster              VARCHAR  NOT NULL,
  node                 VARCHAR  NOT NULL,
  slot                 VARCHAR  NOT NULL,
  device               VARCHAR  NOT NULL,
  instance             UINTEGER NOT NULL,
  since_ms             BIGINT   NOT NULL,
  model                VARCHAR  NOT NULL,
  profile              VARCHAR  NOT NULL,
  namespace            VARCHAR  NOT NULL,
  pod_name             VARCHAR  NOT NULL,
  pod_uid              VARCHAR  NOT NULL,
  container            VARCHAR  NOT NULL,
  unit                 VARCHAR  NOT NULL,
  account              VARCHAR,
  note                 VARCHAR,
  pod                  BIGINT,
  amount               BIGINT,
  moved                BIGINT,
  share_ms             BIGINT   NOT NULL,
  used_ms              BIGINT   NOT NULL,
  unused_ms            BIGINT   NOT NULL,
  byte_ms              HUGEINT  NOT NULL,
  present_ms           BIGINT   NOT NULL,
  granted_ms           BIGINT   NOT NULL,
  cpu_nanos            BIGINT   NOT NULL,
  cpu_request_milli_ms BIGINT   NOT NULL,
  request_byte_ms      HUGEINT  NOT NULL,
  graded               BOOLEAN  NOT NULL,
  share0_ms            BIGINT,
  amount0              BIGINT,
  moved0               BIGINT,
  share1_ms            BIGINT,
  amount1              BIGINT,
  moved1               BIGINT,
  share2_ms            BIGINT,
  amount2              BIGINT,
  moved2               BIGINT,
  share3_ms            BIGINT,
  amount3              BIGINT,
  moved3               BIGINT,
  share4_ms            BIGINT,
  amount4              BIGINT,
  moved4               BIGINT,
  share5_ms            BIGINT,
  amount5              BIGINT,
  moved5               BIGINT
);

-- Days of which ledger_day has all lines, as number of days since 1970. A day goes
-- from here when a line comes to it, and comes back when it is compacted again.
CREATE TABLE ledger_rolled (
  day INTEGER NOT NULL
);

-- Lines of a day that differ in their hours and ids alone, added up: reports by days
-- read a fraction of the rows. Rows of days that are not in ledger_rolled count for
-- nothing. hour is the first of the day. lines is how many there are; whole and
-- whole_moved are the amounts of those that are not graded; the columns that end the
-- row are of those that are.
CREATE TABLE ledger_day (
  hour                 INTEGER  NOT NULL,
  period               INTEGER  NOT NULL,
  sort                 INTEGER  NOT NULL,
  cluster              VARCHAR  NOT NULL,
  node                 VARCHAR  NOT NULL,
  slot                 VARCHAR  NOT NULL,
  device               VARCHAR  NOT NULL,
  instance             UINTEGER NOT NULL,
  since_ms             BIGINT   NOT NULL,
  model                VARCHAR  NOT NULL,
  profile              VARCHAR  NOT NULL,
  namespace            VARCHAR  NOT NULL,
  pod_name             VARCHAR  NOT NULL,
  pod_uid              VARCHAR  NOT NULL,
  account              VARCHAR,
  note                 VARCHAR,
  pod                  BIGINT,
  lines                BIGINT   NOT NULL,
  amount               BIGINT,
  whole                BIGINT,
  moved                BIGINT,
  whole_moved          BIGINT,
  share_ms             BIGINT   NOT NULL,
  used_ms              BIGINT   NOT NULL,
  unused_ms            BIGINT   NOT NULL,
  byte_ms              HUGEINT  NOT NULL,
  present_ms           BIGINT   NOT NULL,
  granted_ms           BIGINT   NOT NULL,
  cpu_nanos            BIGINT   NOT NULL,
  cpu_request_milli_ms BIGINT   NOT NULL,
  request_byte_ms      HUGEINT  NOT NULL,
  amount0              BIGINT,
  moved0               BIGINT,
  amount1              BIGINT,
  moved1               BIGINT,
  amount2              BIGINT,
  moved2               BIGINT,
  amount3              BIGINT,
  moved3               BIGINT,
  amount4              BIGINT,
  moved4               BIGINT,
  amount5              BIGINT,
  moved5               BIGINT
);

-- Hours of nodes as last rated. Replaced when they are rated again, as are the rows
-- of the two tables that follow.
CREATE TABLE ledger_rated (
  hour         INTEGER NOT NULL,
  cluster      VARCHAR NOT NULL,
  node         VARCHAR NOT NULL,
  booking      INTEGER NOT NULL,
  rating       BIGINT  NOT NULL,
  complete     BOOLEAN NOT NULL,
  nodes_json   VARCHAR,
  remarks_json VARCHAR
);

-- What the nodes cost in each piece of an hour. reason, slots and basis are numbers
-- of ledger_word.
CREATE TABLE ledger_cost (
  hour         INTEGER NOT NULL,
  cluster      VARCHAR NOT NULL,
  node         VARCHAR NOT NULL,
  piece        INTEGER NOT NULL,
  start_ms     BIGINT  NOT NULL,
  duration_ms  BIGINT  NOT NULL,
  priced       BOOLEAN NOT NULL,
  reason       BIGINT,
  currency     VARCHAR NOT NULL,
  total        BIGINT  NOT NULL,
  slots        BIGINT,
  cpu          BIGINT  NOT NULL,
  memory       BIGINT  NOT NULL,
  cpu_milli    BIGINT  NOT NULL,
  memory_bytes UBIGINT NOT NULL,
  basis        BIGINT
);

-- What a node's hour costs, and what its lines come to: so that reports need not add
-- up every line to set their total beside the cost. amount is all lines'; apart
-- leaves out the shared ones and adds what platform accounts passed on. lines count
-- those with an amount, pieces the costs with a price.
CREATE TABLE ledger_hour (
  hour        INTEGER NOT NULL,
  cluster     VARCHAR NOT NULL,
  node        VARCHAR NOT NULL,
  currency    VARCHAR NOT NULL,
  cost        HUGEINT NOT NULL,
  amount      HUGEINT NOT NULL,
  apart       HUGEINT NOT NULL,
  lines       BIGINT  NOT NULL,
  lines_apart BIGINT  NOT NULL,
  pieces      BIGINT  NOT NULL
);

-- The rows of ledger_hour of a compacted day added up, and how many of them do not
-- balance: in all, and apart. hour is the first of the day.
CREATE TABLE ledger_day_hour (
  hour        INTEGER NOT NULL,
  currency    VARCHAR NOT NULL,
  cost        HUGEINT NOT NULL,
  amount      HUGEINT NOT NULL,
  apart       HUGEINT NOT NULL,
  lines       BIGINT  NOT NULL,
  lines_apart BIGINT  NOT NULL,
  pieces      BIGINT  NOT NULL,
  odd         BIGINT  NOT NULL,
  odd_apart   BIGINT  NOT NULL
);

-- Closed months, each with its statements in their order. The bytes of a statement
-- are length bytes from start in the month's file under statements/, compressed.
CREATE TABLE ledger_closed (
  cluster_set VARCHAR NOT NULL,
  currency    VARCHAR NOT NULL,
  month       INTEGER NOT NULL,
  file        VARCHAR NOT NULL,
  bytes       BIGINT  NOT NULL,
  closed_json VARCHAR NOT NULL
);

CREATE TABLE ledger_statement (
  cluster_set VARCHAR NOT NULL,
  currency    VARCHAR NOT NULL,
  month       INTEGER NOT NULL,
  place       INTEGER NOT NULL,
  class       VARCHAR NOT NULL,
  account     VARCHAR NOT NULL,
  lines       BIGINT  NOT NULL,
  amount      VARCHAR NOT NULL,
  unpriced_ms BIGINT  NOT NULL,
  sha256      VARCHAR NOT NULL,
  start       BIGINT  NOT NULL,
  length      BIGINT  NOT NULL
);

-- Who did what.
CREATE TABLE ledger_event (
  seq        UBIGINT NOT NULL,
  event_json VARCHAR NOT NULL
);

-- Imports of bills in force, and the hours that they tell of. What the same source
-- files again for the same period takes their place.
CREATE TABLE bill_filed (
  id          BIGINT  NOT NULL,
  source      VARCHAR NOT NULL,
  start_ms    BIGINT  NOT NULL,
  end_ms      BIGINT  NOT NULL,
  hash        VARCHAR NOT NULL,
  filed_json  VARCHAR NOT NULL
);

CREATE TABLE bill_hour (
  filed         BIGINT  NOT NULL,
  instance      VARCHAR NOT NULL,
  instance_type VARCHAR NOT NULL,
  start_ms      BIGINT  NOT NULL,
  currency      VARCHAR NOT NULL,
  effective     BIGINT  NOT NULL,
  beside        BIGINT  NOT NULL,
  list          BIGINT,
  parts_json    VARCHAR,
  span_ms       BIGINT  NOT NULL,
  of_set        VARCHAR NOT NULL,
  sources_json  VARCHAR,
  lines_json    VARCHAR
);

-- Small texts under a key, one each.
CREATE TABLE ledger_text (
  key  VARCHAR NOT NULL,
  text BLOB    NOT NULL
);
