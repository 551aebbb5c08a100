-- The rule by which a node's price was split into GPUs, CPU and memory: reports tell
-- lines apart by it. Each line has had it in its basis all along; what is added up by
-- days has no basis, so it is on the sort as well. '' is a price that was not split,
-- or by nobody knows which rule.
ALTER TABLE ledger_sort ADD COLUMN split VARCHAR DEFAULT '';

CREATE TEMP TABLE basis_split AS
  SELECT id, regexp_extract(text, '"split":"([^"]*)"', 1) AS split FROM ledger_word
  WHERE id IN (SELECT DISTINCT basis FROM ledger_line);

-- Until now a rule that was changed was booked as the difference between both: such
-- lines belong to neither, each from the month on in which the first difference was
-- booked. A stretch is the lines of an entry from a book to the reverse of it.
CREATE TEMP TABLE between_rules AS
  WITH adjusted AS (
    SELECT DISTINCT entry FROM ledger_line JOIN ledger_sort ON ledger_sort.id = sort WHERE step = 'change'
  ), numbered AS (
    SELECT l.id, l.entry, l.period, coalesce(b.split, '') AS split,
      count(*) FILTER (s.step = 'book') OVER (PARTITION BY l.entry ORDER BY l.seq) AS stretch
    FROM ledger_line l JOIN adjusted USING (entry) JOIN ledger_sort s ON s.id = l.sort LEFT JOIN basis_split b ON b.id = l.basis
  )
  SELECT id FROM (
    SELECT id, min(split) OVER until <> max(split) OVER until AS several FROM numbered
    WINDOW until AS (PARTITION BY entry, stretch ORDER BY period)
  ) WHERE several;

-- What sorts there are by rule. The rule that most lines of one have keeps its number.
CREATE TEMP TABLE sort_split AS
  SELECT sort, split, row_number() OVER (PARTITION BY sort ORDER BY lines DESC, split) = 1 AS stays FROM (
    SELECT l.sort, CASE WHEN l.id IN (SELECT id FROM between_rules) THEN '' ELSE coalesce(b.split, '') END AS split, count(*) AS lines
    FROM ledger_line l LEFT JOIN basis_split b ON b.id = l.basis GROUP BY ALL
  );
CREATE TEMP TABLE sort_number AS
  SELECT sort, split, CASE WHEN stays THEN sort
    ELSE (SELECT max(id) FROM ledger_sort) + (row_number() OVER (PARTITION BY stays ORDER BY sort, split))::INTEGER END AS number
  FROM sort_split;

INSERT INTO ledger_sort
  SELECT number, cluster_set, kind, step, resource, entry_kind, holder_kind, account, origin, note, policy, mode, currency, price, grade, priced, n.split
  FROM sort_number n JOIN ledger_sort s ON s.id = n.sort WHERE number <> sort ORDER BY number;
UPDATE ledger_sort SET split = n.split FROM sort_number n WHERE n.number = ledger_sort.id AND n.number = n.sort;

-- Days of which a line gets another sort are added up again when they are compacted.
CREATE TEMP TABLE line_sort AS
  SELECT l.id, l.hour, n.number FROM ledger_line l LEFT JOIN basis_split b ON b.id = l.basis
  JOIN sort_number n ON n.sort = l.sort AND n.number <> l.sort
    AND n.split = CASE WHEN l.id IN (SELECT id FROM between_rules) THEN '' ELSE coalesce(b.split, '') END;
UPDATE ledger_line SET sort = line_sort.number FROM line_sort WHERE line_sort.id = ledger_line.id AND line_sort.hour = ledger_line.hour;
DELETE FROM ledger_rolled WHERE day IN (SELECT DISTINCT hour // 24 FROM line_sort);

DROP TABLE line_sort;
DROP TABLE sort_number;
DROP TABLE sort_split;
DROP TABLE between_rules;
DROP TABLE basis_split;
