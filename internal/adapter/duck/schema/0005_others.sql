-- What pods without a GPU ask for on a node, and what a pod's object says that concerns
-- advice. Hours that were sealed before have files without these columns: what is
-- missing there is NULL.
ALTER TABLE usage_batch ADD COLUMN others_json VARCHAR;
ALTER TABLE usage_facts ADD COLUMN about_json VARCHAR;

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
