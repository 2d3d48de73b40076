"""Who pays for model calls, what each payer spent on a day, and what calls that are under way can cost."""

from typing import Final

MONEY: Final = (
    # Who pays for a model call, and on which day of the caps; calls of before have no payer.
    "ALTER TABLE llm_calls ADD COLUMN soul TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE llm_calls ADD COLUMN workspace TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE llm_calls ADD COLUMN person TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE llm_calls ADD COLUMN room TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE llm_calls ADD COLUMN day TEXT NOT NULL DEFAULT ''",
    "CREATE INDEX llm_calls_of_people ON llm_calls (person, workspace) WHERE person <> ''",
    """
    CREATE TABLE spending (                      -- what each payer spent on a day, kept by the trigger below
      day TEXT NOT NULL,                         -- in the zone of the settings
      paid_by TEXT NOT NULL CHECK (paid_by IN ('soul', 'person', 'room')),
      workspace TEXT NOT NULL,                   -- empty for a soul
      id TEXT NOT NULL,
      nano INTEGER NOT NULL CHECK (nano >= 0),   -- billionths of a US dollar, each call rounded up
      PRIMARY KEY (day, paid_by, workspace, id)
    ) STRICT
    """,
    """
    CREATE TABLE reservations (                  -- what calls that are under way can cost at most
      id TEXT PRIMARY KEY,
      holder TEXT NOT NULL,                      -- the daemon that makes the call
      day TEXT NOT NULL,
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      person TEXT NOT NULL,
      room TEXT NOT NULL,
      trace_id TEXT NOT NULL,
      role TEXT NOT NULL,
      step TEXT NOT NULL,
      model TEXT NOT NULL,
      nano INTEGER NOT NULL CHECK (nano >= 0),
      made_ms INTEGER NOT NULL
    ) STRICT
    """,
    """
    CREATE TRIGGER llm_calls_spent AFTER INSERT ON llm_calls WHEN NEW.day <> '' AND NEW.cost_usd > 0 BEGIN
      INSERT INTO spending (day, paid_by, workspace, id, nano)
      SELECT NEW.day, p.paid_by, p.workspace, p.id,
             CAST(NEW.cost_usd * 1e9 AS INTEGER) + (NEW.cost_usd * 1e9 - CAST(NEW.cost_usd * 1e9 AS INTEGER) > 0.001)
      FROM (SELECT 'soul' AS paid_by, '' AS workspace, NEW.soul AS id
            UNION ALL SELECT 'person', NEW.workspace, NEW.person UNION ALL SELECT 'room', NEW.workspace, NEW.room) p
      WHERE p.id <> ''
      ON CONFLICT (day, paid_by, workspace, id) DO UPDATE SET nano = spending.nano + excluded.nano;
    END
    """,
    # The day on which a conversation read that a cap is met.
    "ALTER TABLE conversations ADD COLUMN cap_shown_day TEXT NOT NULL DEFAULT ''",
)
