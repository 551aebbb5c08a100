-- What pods did on their partitions, hour by hour, made of the records of an hour
-- once it is rated. All of it can be made again while the records are kept.

-- Hours of nodes that are in activity_pod, and what they were made from: the digest
-- of the records, and the version of the rules.
CREATE TABLE activity_node (
  hour    INTEGER NOT NULL,
  cluster VARCHAR NOT NULL,
  node    VARCHAR NOT NULL,
  records VARCHAR NOT NULL,
  rules   VARCHAR NOT NULL
);

-- A pod on a partition in an hour. hour_json is all of it, the other columns are to
-- find it by.
CREATE TABLE activity_pod (
  hour       INTEGER NOT NULL,
  cluster    VARCHAR NOT NULL,
  node       VARCHAR NOT NULL,
  device     VARCHAR NOT NULL,
  model      VARCHAR NOT NULL,
  namespace  VARCHAR NOT NULL,
  owner_kind VARCHAR NOT NULL,
  owner_name VARCHAR NOT NULL,
  pod_name   VARCHAR NOT NULL,
  pod_uid    VARCHAR NOT NULL,
  class      VARCHAR NOT NULL,
  duration_ms BIGINT NOT NULL,
  hour_json  VARCHAR NOT NULL
);

-- What a device drew in an hour while no process was on it: the lowest mean of a
-- window, and for how long.
CREATE TABLE activity_idle (
  hour      INTEGER NOT NULL,
  cluster   VARCHAR NOT NULL,
  node      VARCHAR NOT NULL,
  device    VARCHAR NOT NULL,
  lowest_mw UBIGINT NOT NULL,
  seen_ms   BIGINT  NOT NULL
);

-- What people said to advice: the newest word on each recommendation.
CREATE TABLE advice_decision (
  id            VARCHAR NOT NULL,
  at_ms         BIGINT  NOT NULL,
  decision_json VARCHAR NOT NULL
);
