-- What records say since agents keep power, the pipes for floating point, traffic
-- over PCIe, and what inference engines tell of themselves. Hours that were sealed
-- before have files without these columns: what is missing there is NULL.
ALTER TABLE usage_partition ADD COLUMN fp64_active DOUBLE;
ALTER TABLE usage_partition ADD COLUMN fp32_active DOUBLE;
ALTER TABLE usage_partition ADD COLUMN fp16_active DOUBLE;
ALTER TABLE usage_partition ADD COLUMN pcie_rx_bytes_per_s UBIGINT;
ALTER TABLE usage_partition ADD COLUMN pcie_tx_bytes_per_s UBIGINT;
ALTER TABLE usage_partition ADD COLUMN power_mw UBIGINT;
ALTER TABLE usage_partition ADD COLUMN power_limit_mw UBIGINT;
ALTER TABLE usage_batch ADD COLUMN engines_json VARCHAR;
