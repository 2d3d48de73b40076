-- The schema of memory.db. A fresh file is made by this file and by the steps in `steps/`, in order of their numbers.
-- Comments are inside the statements, since SQLite keeps those: `sqlite3 memory.db .schema` shows them.

-- Conversations, and what was said in them

CREATE TABLE conversations (
  -- A conversation: a DM, a thread in a channel, or a session in the terminal or over HTTP, each with one soul.
  --
  -- In all tables: `soul` is the name of a soul, `workspace` the Slack id of a workspace. `person`, `author` and
  -- `behalf` are Slack ids of users, `name` is what people read. `ts` is the timestamp by which Slack knows a message.
  -- `audience` says who may ever hear the words. Columns that end in `_ms` are milliseconds since 1970, UTC. An empty
  -- text means none.
  id TEXT PRIMARY KEY,                          -- soul/workspace/channel/thread
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  channel TEXT NOT NULL,
  thread TEXT NOT NULL,                         -- ts of the first message of the thread
  place TEXT NOT NULL,                          -- dm, group_dm, private_channel, public_channel or terminal
  audience TEXT NOT NULL,                       -- dm:D…, channel:C…, workspace:T… or operator:…
  process TEXT NOT NULL DEFAULT 'engaged',      -- the current mental process
  taking_part INTEGER NOT NULL DEFAULT 0 CHECK (taking_part IN (0, 1)), -- the soul answers without being mentioned
  version INTEGER NOT NULL DEFAULT 0,           -- raised by every committed cycle
  last_ms INTEGER NOT NULL,
  -- The claim: the process of a daemon that works here, until when, and a number that makes a late write fail.
  lease_owner TEXT NOT NULL DEFAULT '',         -- presence.id
  lease_until INTEGER NOT NULL DEFAULT 0,
  fence INTEGER NOT NULL DEFAULT 0,             -- raised by every claim
  -- The current mental process: the one before it, its runs, what it was entered with, what it keeps between its runs.
  previous TEXT NOT NULL DEFAULT '',
  invocations INTEGER NOT NULL DEFAULT 0,
  params TEXT NOT NULL DEFAULT '{}',            -- JSON
  process_memory TEXT NOT NULL DEFAULT '{}',    -- JSON
  -- The visit: a talk between two silences.
  visit INTEGER NOT NULL DEFAULT 0,             -- its number in this conversation
  exchanges INTEGER NOT NULL DEFAULT 0,         -- replies in it so far
  spoken_ms INTEGER NOT NULL DEFAULT 0,         -- when the last message was written
  away_told_ms INTEGER NOT NULL DEFAULT 0,      -- when it was last said here that messages are too old for an answer
  -- What waits here, kept by the triggers `inbox_waits_…` and `drafts_wait_…`.
  waiting_ms INTEGER,                           -- since when the oldest message or draft waits; NULL: none
  waiting_person TEXT NOT NULL DEFAULT '',      -- whose it is
  pause_ms INTEGER NOT NULL DEFAULT 0,          -- until when the newest pause lasts
  deadline_ms INTEGER,                          -- from when the deadline of a live message counts; NULL: none
  crowded INTEGER NOT NULL DEFAULT 0 CHECK (crowded IN (0, 1)), -- a message came while its author had too many waiting
  ready_ms INTEGER GENERATED ALWAYS AS          -- when it may be claimed
    (CASE WHEN lease_until > pause_ms THEN lease_until ELSE pause_ms END) VIRTUAL,
  -- Who reads along.
  outsider_spoke INTEGER NOT NULL DEFAULT 0 CHECK (outsider_spoke IN (0, 1)), -- a guest or other outsider once wrote
  nonce TEXT NOT NULL DEFAULT '',               -- the code that fences data in prompts, kept for a day
  nonce_ms INTEGER NOT NULL DEFAULT 0,
  forgotten INTEGER NOT NULL DEFAULT 0,         -- how often words were taken away here
  members_only INTEGER CHECK (members_only IN (0, 1)), -- all readers were full members at the last reply; NULL: unknown
  handed_to TEXT NOT NULL DEFAULT '',           -- the soul that was given the thread
  opened INTEGER NOT NULL DEFAULT 0 CHECK (opened IN (0, 1)), -- its words were for the whole workspace once
  cap_shown_day TEXT NOT NULL DEFAULT ''        -- the day on which it was said here that a spending cap is met
) STRICT;
CREATE INDEX conversations_held ON conversations (lease_owner) WHERE lease_owner <> '';
CREATE INDEX conversations_by_age ON conversations (workspace, last_ms);
CREATE INDEX conversations_by_channel ON conversations (soul, workspace, channel, last_ms);
CREATE INDEX conversations_waiting ON conversations (soul, workspace, waiting_ms, waiting_person, ready_ms)
  WHERE waiting_ms IS NOT NULL;
CREATE INDEX conversations_ready ON conversations (soul, workspace, ready_ms) WHERE waiting_ms IS NOT NULL;
CREATE INDEX conversations_waiting_of ON conversations (soul, workspace, waiting_person, waiting_ms, ready_ms)
  WHERE waiting_ms IS NOT NULL;
CREATE INDEX dms_waiting ON conversations (soul, workspace, waiting_ms, waiting_person, ready_ms)
  WHERE waiting_ms IS NOT NULL AND place = 'dm';
CREATE INDEX dms_waiting_of ON conversations (soul, workspace, waiting_person, waiting_ms, ready_ms)
  WHERE waiting_ms IS NOT NULL AND place = 'dm';
CREATE INDEX dms_ready ON conversations (soul, workspace, ready_ms) WHERE waiting_ms IS NOT NULL AND place = 'dm';
CREATE INDEX conversations_deadlines ON conversations (soul, workspace, deadline_ms, ready_ms)
  WHERE deadline_ms IS NOT NULL;
CREATE INDEX conversations_crowded ON conversations (soul, workspace, ready_ms) WHERE crowded = 1;
CREATE INDEX conversations_under_way ON conversations (soul, workspace, waiting_person, lease_until)
  WHERE lease_owner <> '';
CREATE INDEX conversations_by_audience ON conversations (workspace, audience, channel);
CREATE INDEX conversations_handed ON conversations (workspace, channel, thread) WHERE handed_to <> '';
CREATE INDEX conversations_open ON conversations (workspace, channel) WHERE opened;
CREATE TRIGGER conversations_begun_open AFTER INSERT ON conversations
  -- Words that were once for everybody may be told further, even if the channel is later shared with others.
  WHEN NEW.audience GLOB 'workspace:*' AND NOT NEW.opened
BEGIN
  UPDATE conversations SET opened = 1 WHERE id = NEW.id;
END;
CREATE TRIGGER conversations_opened AFTER UPDATE OF audience ON conversations
  WHEN NEW.audience GLOB 'workspace:*' AND NOT NEW.opened
BEGIN
  UPDATE conversations SET opened = 1 WHERE id = NEW.id;
END;

CREATE TABLE working_memory (
  -- The summary of a conversation's older turns.
  conversation TEXT PRIMARY KEY REFERENCES conversations (id) ON DELETE CASCADE,
  version INTEGER NOT NULL,                     -- raised by every new summary
  audience TEXT NOT NULL,
  summary TEXT NOT NULL,
  summarized_to INTEGER NOT NULL,               -- seq of the newest turn that it covers; below 0: none yet
  updated_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE turns (
  -- A message or a reply, in the order in which they were said.
  seq INTEGER PRIMARY KEY AUTOINCREMENT,        -- its id is TL_ and this for a soul's, TU_ and this for any other
  conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
  speaker TEXT NOT NULL CHECK (
    speaker IN ('person', 'soul', 'session') AND (speaker <> 'person' OR author NOT GLOB 'session.*')
  ),
  author TEXT NOT NULL,                         -- a user's Slack id, the soul's name, or session. and the id of a key
  name TEXT NOT NULL,
  ts TEXT NOT NULL,                             -- of the message, or of the one that the reply answers
  body TEXT NOT NULL,
  thought TEXT NOT NULL DEFAULT '{}',           -- JSON, private: inner speech, cognitive steps, checks
  audience TEXT NOT NULL,
  trace_id TEXT NOT NULL,                       -- of the cycle
  said_ms INTEGER NOT NULL,
  kind TEXT NOT NULL DEFAULT 'reply' CHECK (kind IN ('reply', 'cut', 'apology')), -- cut: it met the model's limit
  model TEXT NOT NULL DEFAULT '',               -- the id of the model that said it
  -- How a message was understood, then how a reply was stated.
  emotion_signal TEXT NOT NULL DEFAULT '',
  salience_anchor TEXT NOT NULL DEFAULT '[]',   -- JSON: key words of the message
  intent TEXT NOT NULL DEFAULT '',              -- only where the model was sure
  intent_confidence REAL NOT NULL DEFAULT 0.0,
  epistemic_mode TEXT NOT NULL DEFAULT 'assert'
    CHECK (epistemic_mode IN ('explore', 'hypothesize', 'assert', 'caution', 'reflect')),
  confidence REAL NOT NULL DEFAULT 0.5 CHECK (confidence BETWEEN 0 AND 1),
  passing INTEGER NOT NULL DEFAULT 0 CHECK (passing IN (0, 1)) -- its author paused remembering: deleted after the visit
) STRICT;
CREATE INDEX turns_by_conversation ON turns (conversation, seq);
CREATE INDEX turns_by_message ON turns (conversation, ts);
CREATE INDEX turns_by_trace ON turns (trace_id) WHERE speaker = 'soul';
CREATE INDEX turns_passing ON turns (conversation, said_ms) WHERE passing = 1;
CREATE INDEX turns_by_age ON turns (said_ms);
CREATE INDEX turns_by_author ON turns (author, seq);

CREATE TABLE turn_places (
  -- The neighbours of a turn in one talk before one audience: their words help to find it.
  seq INTEGER PRIMARY KEY,                      -- of the turn
  before INTEGER,                               -- seq of the turn before it
  after INTEGER,
  visit INTEGER NOT NULL                        -- seq of the first turn of the talk
) STRICT;
CREATE TRIGGER turns_placed AFTER INSERT ON turns WHEN NEW.kind <> 'apology'
BEGIN
  -- A turn that comes more than four hours (14400000 ms) later begins another talk.
  INSERT INTO turn_places (seq, before, visit)
  SELECT NEW.seq, p.seq, p.visit FROM turns t JOIN turn_places p ON p.seq = t.seq
  WHERE t.seq = (SELECT seq FROM turns WHERE conversation = NEW.conversation AND seq < NEW.seq AND kind <> 'apology'
                 ORDER BY seq DESC LIMIT 1)
    AND t.audience = NEW.audience AND NEW.said_ms - t.said_ms BETWEEN 0 AND 14400000;
  INSERT INTO turn_places (seq, visit) VALUES (NEW.seq, NEW.seq) ON CONFLICT DO NOTHING;
  UPDATE turn_places SET after = NEW.seq WHERE seq = (SELECT before FROM turn_places WHERE seq = NEW.seq);
END;
CREATE TRIGGER turns_displaced AFTER DELETE ON turns
BEGIN
  UPDATE turn_places SET after = g.after FROM turn_places g WHERE g.seq = OLD.seq AND turn_places.seq = g.before;
  UPDATE turn_places SET before = g.before FROM turn_places g WHERE g.seq = OLD.seq AND turn_places.seq = g.after;
  DELETE FROM turn_places WHERE seq = OLD.seq;
END;

CREATE TABLE transitions (
  -- A step of a conversation from one mental process to another, with the reason.
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
  trace_id TEXT NOT NULL,
  hop INTEGER NOT NULL,                         -- within one perception, from 0
  act TEXT NOT NULL CHECK (act IN ('enter', 'stay', 'move', 'visit', 'return', 'refuse')),
  origin TEXT NOT NULL,                         -- the process before
  target TEXT NOT NULL,
  decided_by TEXT NOT NULL CHECK (decided_by IN ('rule', 'model', 'schedule')),
  reason TEXT NOT NULL,
  params TEXT NOT NULL DEFAULT '{}',            -- JSON
  at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX transitions_by_conversation ON transitions (conversation, seq);
CREATE INDEX transitions_by_age ON transitions (at_ms);

-- What arrives

CREATE TABLE inbox (
  -- A message or another event that a soul perceives. Old rows lose their words and stay: nothing is taken in twice.
  id TEXT PRIMARY KEY,                          -- soul/workspace/channel/ts
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  channel TEXT NOT NULL,
  ts TEXT NOT NULL,
  conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
  author TEXT NOT NULL,
  name TEXT NOT NULL DEFAULT '',
  place TEXT NOT NULL,
  audience TEXT NOT NULL,
  body TEXT NOT NULL,
  revision INTEGER NOT NULL DEFAULT 0,          -- raised by every edit
  source TEXT NOT NULL CHECK (source IN ('live', 'backfill')), -- backfill: read from Slack's history after an outage
  state TEXT NOT NULL
    CHECK (state IN ('new', 'claimed', 'answered', 'ignored', 'withdrawn', 'stale', 'dead', 'dropped')),
  reason TEXT NOT NULL DEFAULT '',
  attempts INTEGER NOT NULL DEFAULT 0,          -- claims so far
  not_before INTEGER NOT NULL DEFAULT 0,        -- when it may be tried again (ms)
  received_ms INTEGER NOT NULL,
  settled_ms INTEGER,
  answered_by TEXT,                             -- id of the outbox row that answers it
  envelope TEXT NOT NULL,                       -- JSON: the event as it came
  modality TEXT NOT NULL DEFAULT 'words'
    CHECK (modality IN ('words', 'time', 'decision', 'note', 'event', 'sense')),
  process TEXT,                                 -- the mental process that it visits; NULL: the current one
  params TEXT NOT NULL DEFAULT '{}',            -- JSON
  aside INTEGER NOT NULL DEFAULT 0              -- people talk to each other; read only if the soul is asked again
    CHECK (aside = 0 OR (aside = 1 AND state = 'ignored')),
  message_id TEXT NOT NULL DEFAULT '',          -- the id that an HTTP client gave it, to ask for the reply again
  receiver TEXT NOT NULL DEFAULT '',            -- the Slack account that heard it, and that answers it once
  incomplete INTEGER NOT NULL DEFAULT 0 CHECK (incomplete IN (0, 1)), -- heard as a mention, which names no files
  cleared INTEGER NOT NULL DEFAULT 0 CHECK (cleared IN (0, 1)), -- it has lost its words
  voided INTEGER NOT NULL DEFAULT 0,            -- how often its cycle began again because its text changed
  crowded INTEGER NOT NULL DEFAULT 0 CHECK (crowded IN (0, 1)), -- it came while its author had too many waiting
  stopped INTEGER NOT NULL DEFAULT 0 CHECK (stopped IN (0, 1)), -- a user wants no answer any more
  absorbed INTEGER NOT NULL DEFAULT 0 CHECK (absorbed IN (0, 1)), -- taken in while another message was answered
  addressed INTEGER NOT NULL DEFAULT 1 CHECK (addressed IN (0, 1)) -- surely meant for the soul: a DM or a mention
) STRICT;
CREATE INDEX inbox_waiting ON inbox (conversation, received_ms) WHERE state IN ('new', 'claimed');
CREATE INDEX inbox_asides ON inbox (conversation, ts) WHERE aside = 1;
CREATE INDEX inbox_by_message_id ON inbox (conversation, message_id) WHERE message_id <> '';
CREATE INDEX inbox_dead ON inbox (settled_ms) WHERE state = 'dead';
CREATE INDEX inbox_by_message ON inbox (ts, channel, workspace);
CREATE INDEX inbox_due ON inbox (soul, workspace, received_ms) WHERE state IN ('new', 'claimed');
CREATE INDEX inbox_by_state ON inbox (state, received_ms);
CREATE INDEX inbox_whole ON inbox (received_ms) WHERE cleared = 0;
CREATE INDEX inbox_events_by_age ON inbox (received_ms) WHERE modality <> 'words';
CREATE INDEX inbox_by_answer ON inbox (answered_by) WHERE answered_by IS NOT NULL;
CREATE INDEX inbox_by_author ON inbox (author, workspace);
CREATE TRIGGER inbox_waits_anew AFTER INSERT ON inbox
  -- Writes into a conversation what waits in it, whichever statement changes an inbox row or a draft.
  WHEN NEW.state IN ('new', 'claimed')
BEGIN
  UPDATE conversations SET
    (waiting_ms, pause_ms, deadline_ms, crowded) = (
      SELECT min(since_ms), coalesce(max(not_before), 0), min(counted_ms), coalesce(max(crowded), 0) FROM (
        SELECT received_ms AS since_ms, not_before, crowded,
               CASE WHEN source = 'backfill' THEN NULL
                    WHEN voided > 0 OR not_before < received_ms THEN received_ms ELSE not_before END AS counted_ms
        FROM inbox WHERE conversation = NEW.conversation AND state IN ('new', 'claimed')
        UNION ALL
        SELECT created_ms, 0, 0, NULL FROM outbox WHERE conversation = NEW.conversation AND state = 'drafting') w),
    waiting_person = coalesce(
      (SELECT author FROM inbox WHERE conversation = NEW.conversation AND state IN ('new', 'claimed')
       ORDER BY received_ms, id LIMIT 1),
      (SELECT recipient FROM outbox WHERE conversation = NEW.conversation AND state = 'drafting' LIMIT 1), '')
  WHERE id = NEW.conversation;
END;
CREATE TRIGGER inbox_waits_otherwise AFTER UPDATE OF state, not_before, received_ms, source, voided, crowded ON inbox
  WHEN (OLD.state IN ('new', 'claimed')) <> (NEW.state IN ('new', 'claimed'))
    OR (NEW.state IN ('new', 'claimed') AND (
      OLD.not_before <> NEW.not_before OR OLD.received_ms <> NEW.received_ms OR OLD.source <> NEW.source
      OR OLD.voided <> NEW.voided OR OLD.crowded <> NEW.crowded))
BEGIN
  UPDATE conversations SET
    (waiting_ms, pause_ms, deadline_ms, crowded) = (
      SELECT min(since_ms), coalesce(max(not_before), 0), min(counted_ms), coalesce(max(crowded), 0) FROM (
        SELECT received_ms AS since_ms, not_before, crowded,
               CASE WHEN source = 'backfill' THEN NULL
                    WHEN voided > 0 OR not_before < received_ms THEN received_ms ELSE not_before END AS counted_ms
        FROM inbox WHERE conversation = NEW.conversation AND state IN ('new', 'claimed')
        UNION ALL
        SELECT created_ms, 0, 0, NULL FROM outbox WHERE conversation = NEW.conversation AND state = 'drafting') w),
    waiting_person = coalesce(
      (SELECT author FROM inbox WHERE conversation = NEW.conversation AND state IN ('new', 'claimed')
       ORDER BY received_ms, id LIMIT 1),
      (SELECT recipient FROM outbox WHERE conversation = NEW.conversation AND state = 'drafting' LIMIT 1), '')
  WHERE id = NEW.conversation;
END;
CREATE TRIGGER inbox_waits_no_more AFTER DELETE ON inbox
  WHEN OLD.state IN ('new', 'claimed')
BEGIN
  UPDATE conversations SET
    (waiting_ms, pause_ms, deadline_ms, crowded) = (
      SELECT min(since_ms), coalesce(max(not_before), 0), min(counted_ms), coalesce(max(crowded), 0) FROM (
        SELECT received_ms AS since_ms, not_before, crowded,
               CASE WHEN source = 'backfill' THEN NULL
                    WHEN voided > 0 OR not_before < received_ms THEN received_ms ELSE not_before END AS counted_ms
        FROM inbox WHERE conversation = OLD.conversation AND state IN ('new', 'claimed')
        UNION ALL
        SELECT created_ms, 0, 0, NULL FROM outbox WHERE conversation = OLD.conversation AND state = 'drafting') w),
    waiting_person = coalesce(
      (SELECT author FROM inbox WHERE conversation = OLD.conversation AND state IN ('new', 'claimed')
       ORDER BY received_ms, id LIMIT 1),
      (SELECT recipient FROM outbox WHERE conversation = OLD.conversation AND state = 'drafting' LIMIT 1), '')
  WHERE id = OLD.conversation;
END;

CREATE TABLE deliveries (
  -- An event of Slack that was seen, to know it when Slack sends it again.
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  event_id TEXT NOT NULL,                       -- or withdrawn/channel/ts: the message was deleted before it was heard
  seen_ms INTEGER NOT NULL,
  PRIMARY KEY (soul, workspace, event_id)
) STRICT;
CREATE INDEX deliveries_by_age ON deliveries (seen_ms);

CREATE TABLE marked_messages (
  -- A message with the reaction that says it is worked on, until the reaction is taken away.
  id TEXT PRIMARY KEY REFERENCES inbox (id) ON DELETE CASCADE,
  marked_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX marked_messages_by_age ON marked_messages (marked_ms);

CREATE TABLE watermarks (
  -- The moment up to which a soul heard a workspace without a gap.
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  ts TEXT NOT NULL,
  updated_ms INTEGER NOT NULL,
  PRIMARY KEY (soul, workspace)
) STRICT;

CREATE TABLE unread_places (
  -- A channel or thread whose history is read after an outage, and how far that is.
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  channel TEXT NOT NULL,
  thread TEXT NOT NULL,                         -- ts of its first message; '': the timeline of the channel
  state TEXT NOT NULL CHECK (state IN ('due', 'read')),
  since TEXT NOT NULL,                          -- messages from this ts on may be missing
  resume TEXT NOT NULL DEFAULT '',              -- where a place that is read in several steps goes on
  heard_ms INTEGER NOT NULL,                    -- when the last message there was written, as far as is known
  failures INTEGER NOT NULL DEFAULT 0,
  due_ms INTEGER NOT NULL,
  PRIMARY KEY (soul, workspace, channel, thread)
) STRICT;
CREATE INDEX unread_places_due ON unread_places (soul, workspace, failures, heard_ms) WHERE state = 'due';

CREATE TABLE room_news (
  -- A channel or user of which Slack told one daemon something new, for the other daemons on this file.
  seq INTEGER PRIMARY KEY AUTOINCREMENT,        -- never used again: daemons remember how far they have read
  teller TEXT NOT NULL,                         -- code of the daemon's run, which knows its own news
  workspace TEXT NOT NULL,
  subject TEXT NOT NULL,                        -- id of the channel or user
  at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX room_news_at ON room_news (at_ms);

CREATE TABLE room_lists (
  -- A list of the private channels of one user, as Slack shows it to one account of ours.
  workspace TEXT NOT NULL,
  person TEXT NOT NULL,
  app TEXT NOT NULL,                            -- Slack id of our account, which sees only the channels it is in
  changes INTEGER NOT NULL DEFAULT 0,           -- how often news outdated it
  read_ms INTEGER NOT NULL DEFAULT 0,           -- 0: it has to be read again
  touched_ms INTEGER NOT NULL,
  PRIMARY KEY (workspace, person, app)
) STRICT;
CREATE INDEX room_lists_by_age ON room_lists (touched_ms);

CREATE TABLE room_members (
  -- A private channel in such a list.
  workspace TEXT NOT NULL,
  person TEXT NOT NULL,
  app TEXT NOT NULL,
  room TEXT NOT NULL,                           -- id of the channel
  PRIMARY KEY (workspace, person, app, room)
) STRICT, WITHOUT ROWID;
CREATE INDEX room_members_by_room ON room_members (workspace, room);

CREATE TABLE narrowings (
  -- How often a channel of a workspace was made private: a reply that began before may rest on its words.
  workspace TEXT PRIMARY KEY,
  times INTEGER NOT NULL
) STRICT;

CREATE TABLE introductions (
  -- A channel in which a soul introduced itself, which it does once.
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  channel TEXT NOT NULL,
  event TEXT NOT NULL,                          -- inbox.id of the event that led to it
  invited_ms INTEGER NOT NULL,
  PRIMARY KEY (soul, workspace, channel)
) STRICT;

CREATE TABLE room_ways (
  -- The settings of a channel, as those who manage it made them.
  workspace TEXT NOT NULL,
  channel TEXT NOT NULL,
  instructions TEXT NOT NULL,                   -- words of people: data
  soul TEXT NOT NULL,                           -- the one that answers threads which begin from then on
  streams TEXT NOT NULL CHECK (streams IN ('', 'on', 'off')),
  joins TEXT NOT NULL CHECK (joins IN ('', 'mention')),
  person TEXT NOT NULL,                         -- who set it last
  set_ms INTEGER NOT NULL,
  PRIMARY KEY (workspace, channel)
) STRICT;

-- What is sent

CREATE TABLE outbox (
  -- A post that waits for Slack or was sent, one part of a reply or a note of the daemon.
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,                      -- conversation@version#part; travels in the metadata of the post
  conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  part INTEGER NOT NULL,
  last INTEGER NOT NULL CHECK (last IN (0, 1)), -- the last part of its reply
  body TEXT NOT NULL,
  reply_to TEXT NOT NULL,
  recipient TEXT NOT NULL,
  newer_than_ts TEXT NOT NULL,                  -- a ts that the post is surely younger than, to look it up in Slack
  audience TEXT NOT NULL,
  state TEXT NOT NULL
    CHECK (state IN ('drafting', 'pending', 'sending', 'sent', 'unknown', 'expired', 'dead', 'dropped')),
  reason TEXT NOT NULL DEFAULT '',
  platform_ts TEXT,                             -- of the draft, later of the message
  attempts INTEGER NOT NULL DEFAULT 0,
  not_before INTEGER NOT NULL DEFAULT 0,        -- when it may be tried again (ms)
  created_ms INTEGER NOT NULL,
  settled_ms INTEGER,
  lease_owner TEXT NOT NULL DEFAULT '',         -- presence.id of the daemon that sends it
  lease_until INTEGER NOT NULL DEFAULT 0,
  fence INTEGER NOT NULL DEFAULT 0,             -- raised by every claim
  approval TEXT,                                -- id of the approval that it asks for
  revises TEXT,                                 -- id of the earlier post that it replaces
  draft_lost INTEGER NOT NULL DEFAULT 0 CHECK (draft_lost IN (0, 1)), -- a draft may be visible whose ts was lost
  faults INTEGER NOT NULL DEFAULT 0,            -- unforeseen failures
  cleared INTEGER NOT NULL DEFAULT 0 CHECK (cleared IN (0, 1)), -- it has lost its words, and stays
  doubted_ms INTEGER,                           -- since when it may or may not have been sent
  draft_tries INTEGER NOT NULL DEFAULT 0,       -- how often Slack refused to finish its draft
  note INTEGER NOT NULL DEFAULT 0 CHECK (note IN (0, 1)), -- a line of the daemon about something that came to nothing
  file TEXT NOT NULL DEFAULT '',                -- the name of the file as which the body is sent
  dates TEXT NOT NULL DEFAULT '{}',             -- JSON: times in the body, each with its moment (ms)
  stopped TEXT NOT NULL DEFAULT ''              -- closing: it ends a stopped reply; halted: no more of it may be sent
    CHECK (stopped IN ('', 'closing', 'halted')),
  unasked INTEGER NOT NULL DEFAULT 0 CHECK (unasked IN (0, 1)), -- no user waits for it: it may be dropped in silence
  answers TEXT NOT NULL DEFAULT '',             -- JSON: the short answers that it offers as buttons, while it does
  withdrawn INTEGER NOT NULL DEFAULT 0 CHECK (withdrawn IN (0, 1)), -- a user took the reply back
  nod TEXT NOT NULL DEFAULT '',                 -- a reply without words: the name of an emoji
  nod_to TEXT NOT NULL DEFAULT '',              -- ts of the message that gets it
  quiet TEXT NOT NULL DEFAULT ''                -- the hours and zone in which it isn't sent: 20:00-08:00 Europe/Berlin
) STRICT;
CREATE INDEX outbox_waiting ON outbox (conversation, seq) WHERE state IN ('pending', 'sending');
CREATE INDEX outbox_due ON outbox (soul, workspace, seq) WHERE state IN ('pending', 'sending');
CREATE INDEX outbox_drafts ON outbox (conversation) WHERE state = 'drafting';
CREATE INDEX outbox_by_message ON outbox (platform_ts) WHERE platform_ts IS NOT NULL;
CREATE INDEX outbox_given_up ON outbox (settled_ms) WHERE state IN ('unknown', 'expired', 'dead');
CREATE INDEX outbox_by_state ON outbox (state, seq);
CREATE INDEX outbox_whole ON outbox (created_ms) WHERE cleared = 0;
CREATE INDEX outbox_offers ON outbox (workspace, recipient) WHERE answers <> '';
CREATE TRIGGER drafts_wait_anew AFTER INSERT ON outbox
  WHEN NEW.state = 'drafting'
BEGIN
  UPDATE conversations SET
    (waiting_ms, pause_ms, deadline_ms, crowded) = (
      SELECT min(since_ms), coalesce(max(not_before), 0), min(counted_ms), coalesce(max(crowded), 0) FROM (
        SELECT received_ms AS since_ms, not_before, crowded,
               CASE WHEN source = 'backfill' THEN NULL
                    WHEN voided > 0 OR not_before < received_ms THEN received_ms ELSE not_before END AS counted_ms
        FROM inbox WHERE conversation = NEW.conversation AND state IN ('new', 'claimed')
        UNION ALL
        SELECT created_ms, 0, 0, NULL FROM outbox WHERE conversation = NEW.conversation AND state = 'drafting') w),
    waiting_person = coalesce(
      (SELECT author FROM inbox WHERE conversation = NEW.conversation AND state IN ('new', 'claimed')
       ORDER BY received_ms, id LIMIT 1),
      (SELECT recipient FROM outbox WHERE conversation = NEW.conversation AND state = 'drafting' LIMIT 1), '')
  WHERE id = NEW.conversation;
END;
CREATE TRIGGER drafts_wait_otherwise AFTER UPDATE OF state ON outbox
  WHEN (OLD.state = 'drafting') <> (NEW.state = 'drafting')
BEGIN
  UPDATE conversations SET
    (waiting_ms, pause_ms, deadline_ms, crowded) = (
      SELECT min(since_ms), coalesce(max(not_before), 0), min(counted_ms), coalesce(max(crowded), 0) FROM (
        SELECT received_ms AS since_ms, not_before, crowded,
               CASE WHEN source = 'backfill' THEN NULL
                    WHEN voided > 0 OR not_before < received_ms THEN received_ms ELSE not_before END AS counted_ms
        FROM inbox WHERE conversation = NEW.conversation AND state IN ('new', 'claimed')
        UNION ALL
        SELECT created_ms, 0, 0, NULL FROM outbox WHERE conversation = NEW.conversation AND state = 'drafting') w),
    waiting_person = coalesce(
      (SELECT author FROM inbox WHERE conversation = NEW.conversation AND state IN ('new', 'claimed')
       ORDER BY received_ms, id LIMIT 1),
      (SELECT recipient FROM outbox WHERE conversation = NEW.conversation AND state = 'drafting' LIMIT 1), '')
  WHERE id = NEW.conversation;
END;
CREATE TRIGGER drafts_wait_no_more AFTER DELETE ON outbox
  WHEN OLD.state = 'drafting'
BEGIN
  UPDATE conversations SET
    (waiting_ms, pause_ms, deadline_ms, crowded) = (
      SELECT min(since_ms), coalesce(max(not_before), 0), min(counted_ms), coalesce(max(crowded), 0) FROM (
        SELECT received_ms AS since_ms, not_before, crowded,
               CASE WHEN source = 'backfill' THEN NULL
                    WHEN voided > 0 OR not_before < received_ms THEN received_ms ELSE not_before END AS counted_ms
        FROM inbox WHERE conversation = OLD.conversation AND state IN ('new', 'claimed')
        UNION ALL
        SELECT created_ms, 0, 0, NULL FROM outbox WHERE conversation = OLD.conversation AND state = 'drafting') w),
    waiting_person = coalesce(
      (SELECT author FROM inbox WHERE conversation = OLD.conversation AND state IN ('new', 'claimed')
       ORDER BY received_ms, id LIMIT 1),
      (SELECT recipient FROM outbox WHERE conversation = OLD.conversation AND state = 'drafting' LIMIT 1), '')
  WHERE id = OLD.conversation;
END;
CREATE TRIGGER forgotten_posts_lose_their_words AFTER UPDATE OF state ON outbox
  -- The message that a post answers may be forgotten while the post is sent.
  WHEN OLD.state IN ('pending', 'sending') AND NEW.state NOT IN ('drafting', 'pending', 'sending') AND NEW.cleared = 0
BEGIN
  UPDATE outbox SET body = '', cleared = 1 WHERE id = NEW.id AND EXISTS (
    SELECT 1 FROM inbox i WHERE i.cleared = 1
      AND i.answered_by = substr(NEW.id, 1, length(NEW.id) - length(NEW.part)) || '0');
END;
CREATE TRIGGER outbox_cleared_answers AFTER UPDATE OF cleared ON outbox
  WHEN NEW.cleared = 1 AND NEW.answers <> ''
BEGIN
  UPDATE outbox SET answers = '' WHERE id = NEW.id;
END;
CREATE TRIGGER inner_rooms_are_silent BEFORE INSERT ON outbox
  -- Nothing leaves the room in which a soul thinks by itself, neither a reply nor a note.
  WHEN NEW.conversation GLOB '*/*/inner/*'
BEGIN
  SELECT RAISE(IGNORE);
END;

CREATE TABLE feedback (
  -- What a user said of a reply, by its buttons or by a reaction.
  outbox TEXT NOT NULL REFERENCES outbox (id) ON DELETE CASCADE,
  author TEXT NOT NULL,
  value TEXT NOT NULL CHECK (value IN ('good', 'bad')),
  given_ms INTEGER NOT NULL,
  how TEXT NOT NULL DEFAULT 'button' CHECK (how IN ('button', 'reaction')),
  asked_ms INTEGER,                             -- when the user was asked why
  why TEXT NOT NULL DEFAULT '',                 -- and the answer
  PRIMARY KEY (outbox, author)
) STRICT;

CREATE TABLE judged_memories (
  -- A memory that had surfaced to a reply which a user judged.
  id TEXT NOT NULL,                             -- of the turn, record or passage
  outbox TEXT NOT NULL,
  author TEXT NOT NULL,
  PRIMARY KEY (id, outbox, author),
  FOREIGN KEY (outbox, author) REFERENCES feedback (outbox, author) ON DELETE CASCADE
) STRICT;
CREATE INDEX judged_memories_by_reply ON judged_memories (outbox, author);

CREATE TABLE session_titles (
  -- A thread of direct messages that has a title or is due to get one. A row stays, and no title is set twice.
  id TEXT PRIMARY KEY,                          -- workspace/channel/thread
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  channel TEXT NOT NULL,
  thread TEXT NOT NULL,
  message TEXT NOT NULL,                        -- inbox.id of the words that make the title
  state TEXT NOT NULL CHECK (state IN ('due', 'over')),
  due_ms INTEGER NOT NULL,
  tries INTEGER NOT NULL DEFAULT 0,
  noted_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX session_titles_due ON session_titles (soul, workspace, due_ms) WHERE state = 'due';
CREATE INDEX session_titles_by_age ON session_titles (noted_ms);

-- Work that waits

CREATE TABLE jobs (
  -- A piece of work after a reply.
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,                           -- the name of a subprocess
  conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('ready', 'running', 'done', 'dead')),
  reason TEXT NOT NULL DEFAULT '',
  attempts INTEGER NOT NULL DEFAULT 0,
  not_before INTEGER NOT NULL DEFAULT 0,        -- when it may be tried again (ms)
  created_ms INTEGER NOT NULL,
  settled_ms INTEGER,
  lease_owner TEXT NOT NULL DEFAULT '',         -- presence.id of the daemon that does it
  lease_until INTEGER NOT NULL DEFAULT 0,
  fence INTEGER NOT NULL DEFAULT 0,             -- raised by every claim
  turn INTEGER NOT NULL DEFAULT 0,              -- the turn after which it was to be done; it yields to a newer one
  faults INTEGER NOT NULL DEFAULT 0,            -- unforeseen failures
  gathered INTEGER NOT NULL DEFAULT 1           -- turns after which it was asked for
) STRICT;
CREATE UNIQUE INDEX jobs_live ON jobs (conversation, kind) WHERE state IN ('ready', 'running');
CREATE INDEX jobs_due ON jobs (soul, workspace, seq) WHERE state IN ('ready', 'running');
CREATE INDEX jobs_dead ON jobs (settled_ms) WHERE state = 'dead';
CREATE INDEX jobs_by_state ON jobs (state, seq);
CREATE INDEX jobs_by_age ON jobs (settled_ms) WHERE state = 'done';

CREATE TABLE intentions (
  -- An event that falls due later: a reminder, a digest, a schedule of the admin, or what a soul means to do.
  id TEXT PRIMARY KEY,
  conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  slot TEXT NOT NULL,                           -- one intention waits for each slot; a new one takes its place
  due_ms INTEGER NOT NULL,
  every TEXT NOT NULL DEFAULT '',               -- '': once; a crontab of the admin (UTC), or a user's rule in `zone`
  process TEXT NOT NULL,                        -- the mental process to visit; '': the current one
  params TEXT NOT NULL DEFAULT '{}',            -- JSON
  content TEXT NOT NULL DEFAULT '',
  behalf TEXT NOT NULL,                         -- Slack id of the user for whom it is, whom the gate checks
  place TEXT NOT NULL,
  audience TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'due', 'cancelled', 'dead')),
  reason TEXT NOT NULL DEFAULT '',
  fired INTEGER NOT NULL DEFAULT 0,             -- how often it fell due
  created_ms INTEGER NOT NULL,
  settled_ms INTEGER,
  faults INTEGER NOT NULL DEFAULT 0,            -- unforeseen failures to begin it
  number INTEGER NOT NULL DEFAULT 0,            -- by which its user names it, never used twice
  zone TEXT NOT NULL DEFAULT '',
  fired_day TEXT NOT NULL DEFAULT '',           -- the day in `zone` for which it was due last
  errand TEXT NOT NULL DEFAULT '' CHECK (errand IN ('', 'digest')),
  covers_to TEXT NOT NULL DEFAULT '',           -- ts up to which the last digest told, or from which an answer counts
  paused TEXT NOT NULL DEFAULT ''               -- why it falls due only after its user resumes it
    CHECK (paused IN ('', 'not_in_channel', 'archived', 'owner_left')),
  asked_where TEXT NOT NULL DEFAULT '',         -- the conversation that asked for it, if it is another one
  cue TEXT NOT NULL DEFAULT '' CHECK (cue IN ('', 'silence')) -- silence: an answer cancels it
) STRICT;
CREATE UNIQUE INDEX intentions_slots ON intentions (conversation, slot) WHERE state = 'waiting';
CREATE INDEX intentions_by_conversation ON intentions (conversation);
CREATE INDEX intentions_due ON intentions (soul, workspace, due_ms) WHERE state = 'waiting';
CREATE INDEX intentions_dead ON intentions (settled_ms) WHERE state = 'dead';
CREATE INDEX intentions_by_state ON intentions (state, due_ms);
CREATE INDEX intentions_counted ON intentions (soul, workspace) WHERE state = 'waiting' AND slot <> 'idle';
CREATE INDEX intentions_with_text ON intentions (conversation) WHERE content <> '';
CREATE INDEX intentions_of_person ON intentions (behalf, workspace) WHERE slot <> 'idle';
CREATE INDEX intentions_asked_elsewhere ON intentions (asked_where) WHERE asked_where <> '';
CREATE INDEX intentions_errands ON intentions (conversation) WHERE errand <> '';
CREATE INDEX intentions_silences ON intentions (conversation) WHERE state = 'waiting' AND cue = 'silence';

CREATE TABLE ended_intentions (
  -- An intention whose row is gone: a passport from before must not bring it back.
  id TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
CREATE TRIGGER intentions_end AFTER DELETE ON intentions WHEN OLD.slot <> 'idle'
BEGIN
  INSERT INTO ended_intentions (id) VALUES (OLD.id) ON CONFLICT DO NOTHING;
END;

CREATE TABLE approvals (
  -- A question for permission to use a tool, or a proposal of a thought.
  id TEXT PRIMARY KEY,                          -- carried by its buttons
  conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  turn INTEGER NOT NULL,                        -- conversations.version of the reply that asks
  tool TEXT NOT NULL,
  arguments TEXT NOT NULL,                      -- JSON: exactly what will be done
  asked TEXT NOT NULL,                          -- JSON: the Slack ids of those who may decide
  audience TEXT NOT NULL,
  state TEXT NOT NULL
    CHECK (state IN ('waiting', 'approved', 'refused', 'expired', 'using', 'used', 'failed', 'unknown')),
  expires_ms INTEGER NOT NULL,
  decided_by TEXT NOT NULL DEFAULT '',
  decided_ms INTEGER,
  created_ms INTEGER NOT NULL,
  faults INTEGER NOT NULL DEFAULT 0,            -- unforeseen failures
  fingerprint TEXT NOT NULL DEFAULT '',         -- of the tool when it was asked for
  woken INTEGER NOT NULL DEFAULT 0 CHECK (woken IN (0, 1)) -- the decision on a thought's proposal has made a tick
) STRICT;
CREATE INDEX approvals_waiting ON approvals (soul, workspace, expires_ms) WHERE state = 'waiting';
CREATE INDEX approvals_by_state ON approvals (state, created_ms);
CREATE INDEX proposals_by_conversation ON approvals (conversation) WHERE tool GLOB 'mind.*';
CREATE INDEX proposals_by_soul ON approvals (soul, state) WHERE tool GLOB 'mind.*';
CREATE INDEX proposals_to_wake ON approvals (soul, workspace, decided_ms)
  WHERE tool GLOB 'mind.*' AND state IN ('used', 'refused') AND woken = 0;

-- People, and the moods of souls

CREATE TABLE user_models (
  -- What a soul knows of a user before one audience; the notes themselves are facts.
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  person TEXT NOT NULL,
  audience TEXT NOT NULL,
  version INTEGER NOT NULL,                     -- raised by every change of notes and whispers
  name TEXT NOT NULL,
  whispers TEXT NOT NULL DEFAULT '',            -- a guess at what the user leaves unsaid
  visits INTEGER NOT NULL DEFAULT 0,
  interactions INTEGER NOT NULL DEFAULT 0,
  seen_ms INTEGER NOT NULL DEFAULT 0,           -- when the user last spoke here
  modelled_to INTEGER NOT NULL DEFAULT 0,       -- seq of the newest turn that the notes cover
  updated_ms INTEGER NOT NULL,
  PRIMARY KEY (soul, workspace, person, audience)
) STRICT;
CREATE INDEX user_models_by_person ON user_models (person);
CREATE INDEX user_models_by_time ON user_models (seen_ms);
CREATE INDEX user_models_met_last ON user_models (soul, workspace, seen_ms);
CREATE INDEX user_models_by_audience ON user_models (soul, workspace, audience);

CREATE TABLE user_model_history (
  -- A version of what a soul knows of a user.
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  person TEXT NOT NULL,
  audience TEXT NOT NULL,
  version INTEGER NOT NULL,
  notes TEXT NOT NULL,                          -- JSON: ids of facts
  whispers TEXT NOT NULL,
  change TEXT NOT NULL,                         -- JSON: what was added, corrected, retired
  trace_id TEXT NOT NULL,
  made_ms INTEGER NOT NULL,
  PRIMARY KEY (soul, workspace, person, audience, version)
) STRICT;
CREATE INDEX user_model_history_by_person ON user_model_history (person, made_ms);

CREATE TABLE looked_through (
  -- How far a user's words in one conversation were looked through for notes.
  conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
  person TEXT NOT NULL,
  up_to INTEGER NOT NULL,                       -- seq of a turn; 0: none yet
  wanted_to INTEGER NOT NULL DEFAULT 0,         -- seq of the newest turn for which a job was queued
  PRIMARY KEY (conversation, person)
) STRICT, WITHOUT ROWID;
CREATE INDEX looked_through_not_yet ON looked_through (conversation, person) WHERE wanted_to > up_to;

CREATE TABLE person_zones (
  -- The time zone of a user, as Slack says.
  workspace TEXT NOT NULL,
  person TEXT NOT NULL,
  zone TEXT NOT NULL,                           -- '': unknown
  updated_ms INTEGER NOT NULL,
  PRIMARY KEY (workspace, person)
) STRICT;

CREATE TABLE remembering (
  -- What a user decided about being remembered.
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  person TEXT NOT NULL,
  paused_ms INTEGER,                            -- since when nothing is to be remembered
  informed_ms INTEGER,                          -- when the user learned that the soul remembers
  forget_until_ms INTEGER,                      -- until when the user may confirm that all is to be forgotten
  PRIMARY KEY (soul, workspace, person)
) STRICT;

CREATE TABLE shown_facts (
  -- The newest list of facts that a user was shown: `why 3` means its third line.
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  person TEXT NOT NULL,
  facts TEXT NOT NULL,                          -- JSON: ids of facts
  newest TEXT NOT NULL DEFAULT '',              -- the fact that was asked about last
  shown_ms INTEGER NOT NULL,
  PRIMARY KEY (soul, workspace, person)
) STRICT;

CREATE TABLE word_readings (
  -- A user whose words an admin was shown, and when the soul may say so, once a day at most.
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  person TEXT NOT NULL,
  first_ms INTEGER,                             -- the first time of which the user does not know; NULL: none
  last_ms INTEGER NOT NULL,
  next_ms INTEGER NOT NULL,                     -- when the user may hear of it
  PRIMARY KEY (soul, workspace, person)
) STRICT;
CREATE INDEX word_readings_to_tell ON word_readings (soul, workspace, next_ms) WHERE first_ms IS NOT NULL;

CREATE TABLE tombstones (
  -- A person who was forgotten, as a salted digest: by it a restored backup forgets again.
  id TEXT PRIMARY KEY,
  workspace TEXT NOT NULL,
  salt TEXT NOT NULL,
  digest TEXT NOT NULL,                         -- of salt, workspace and Slack id
  state TEXT NOT NULL CHECK (state IN ('asked', 'erased', 'done')),
  person TEXT NOT NULL DEFAULT '',              -- the Slack id, until it is done
  spared TEXT NOT NULL DEFAULT '',              -- the conversation and inbox row that wait for the outcome
  stores TEXT NOT NULL DEFAULT '{}',            -- JSON: what was deleted, by store
  gone TEXT NOT NULL DEFAULT '[]',              -- JSON: ids of turns and records, until their vectors are gone
  asked_ms INTEGER NOT NULL,
  forgotten_ms INTEGER NOT NULL DEFAULT 0,      -- up to when rows were stored that it covers
  said_ms INTEGER NOT NULL DEFAULT 0            -- up to when messages were written that it covers, by Slack's clock
) STRICT;
CREATE INDEX tombstones_by_time ON tombstones (workspace, forgotten_ms);

CREATE TABLE soul_state (
  -- The mood of a soul before one audience.
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  audience TEXT NOT NULL,
  version INTEGER NOT NULL,
  emotional_state TEXT NOT NULL,
  felt_ms INTEGER NOT NULL,                     -- since when; it fades
  updated_ms INTEGER NOT NULL,
  valence REAL NOT NULL DEFAULT 0 CHECK (valence BETWEEN -1 AND 1),
  arousal REAL NOT NULL DEFAULT 0 CHECK (arousal BETWEEN -1 AND 1),
  dominance REAL NOT NULL DEFAULT 0 CHECK (dominance BETWEEN -1 AND 1),
  moved_ms INTEGER NOT NULL DEFAULT 0,          -- from when the three axes fade
  felt_quality TEXT NOT NULL DEFAULT '',        -- how it feels, in the words of a thought
  felt_by TEXT NOT NULL DEFAULT '',             -- id of that thought, with which the words go
  PRIMARY KEY (soul, workspace, audience)
) STRICT;
CREATE INDEX soul_state_felt_by ON soul_state (felt_by) WHERE felt_by <> '';

CREATE TABLE conversation_topics (
  -- The topic of a conversation and the soul's task in it.
  conversation TEXT PRIMARY KEY REFERENCES conversations (id) ON DELETE CASCADE,
  audience TEXT NOT NULL,
  version INTEGER NOT NULL,
  topic TEXT NOT NULL DEFAULT '',
  task TEXT NOT NULL DEFAULT '',
  updated_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE standing_questions (
  -- The question that a soul wonders about in a room, from visit to visit.
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  channel TEXT NOT NULL,
  audience TEXT NOT NULL,
  question TEXT NOT NULL,
  since_ms INTEGER NOT NULL,
  PRIMARY KEY (soul, workspace, channel)
) STRICT;

-- Memory: records, what each kind of them has, and how they rest on turns and on each other

CREATE TABLE records (
  -- A stored memory, with the columns that all kinds have.
  seq INTEGER PRIMARY KEY AUTOINCREMENT,        -- never used again: indexes know a record by it
  id TEXT NOT NULL UNIQUE,                      -- EP_20260128_001, sem_0a1b2c3d, SMEM_20260128_001 …
  kind TEXT NOT NULL,                           -- episode, core, sphere, fact, sense or journal
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  audience TEXT NOT NULL,                       -- who may ever hear it
  channel TEXT NOT NULL,                        -- where it comes from; before outsiders it is told nowhere else
  conversation TEXT REFERENCES conversations (id) ON DELETE SET NULL,
  person TEXT NOT NULL DEFAULT '',              -- Slack id of the user whom it is about, or who said it
  trust TEXT NOT NULL                           -- own: said of oneself; claim: of another; noted: without a quotation
    CHECK (trust IN ('own', 'claim', 'document', 'inferred', 'noted')),
  significance INTEGER NOT NULL CHECK (significance BETWEEN 1 AND 10),
  text TEXT NOT NULL,                           -- the line that is searched and shown
  at_ms INTEGER NOT NULL,                       -- when it happened
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  extra TEXT NOT NULL DEFAULT '{}'              -- JSON: fields of a passport that this program doesn't know
) STRICT;
CREATE INDEX records_by_kind ON records (soul, workspace, kind, at_ms);
CREATE INDEX records_by_audience ON records (soul, audience, kind, at_ms);
CREATE INDEX records_by_person ON records (person, kind, soul, workspace, audience);
CREATE INDEX records_by_conversation ON records (conversation, kind, at_ms) WHERE conversation IS NOT NULL;
CREATE INDEX facts_by_audience ON records (soul, workspace, audience, seq) WHERE kind = 'fact';

CREATE TABLE record_ids (
  -- The last number that was given in a series of ids, such as EP_20260128.
  series TEXT PRIMARY KEY,
  last INTEGER NOT NULL
) STRICT;

CREATE TABLE links (
  -- A link from a record to a record or a turn.
  origin TEXT NOT NULL,
  relation TEXT NOT NULL,                       -- evidence, sources, supersedes, turn_refs, episode_id …
  target TEXT NOT NULL,
  quote TEXT NOT NULL DEFAULT '',               -- the words of the target that prove the origin
  linked_ms INTEGER NOT NULL,
  PRIMARY KEY (origin, relation, target)
) STRICT, WITHOUT ROWID;
CREATE INDEX links_back ON links (target, relation);
CREATE TRIGGER sessions_prove_nothing BEFORE INSERT ON links
  WHEN NEW.relation = 'evidence' AND EXISTS (
    SELECT 1 FROM turns WHERE seq = CAST(substr(NEW.target, 4) AS INTEGER) AND NEW.target = 'TU_' || seq
      AND speaker = 'session')
BEGIN
  SELECT RAISE(ABORT, 'what is said in a session proves nothing');
END;

CREATE TABLE episodes (
  -- An episode, core or sphere: a visit, or the summary of eight visits or eight cores.
  id TEXT PRIMARY KEY REFERENCES records (id) ON DELETE CASCADE,
  state TEXT NOT NULL CHECK (state IN ('open', 'closing', 'closed', 'distilled')),
  persona_id TEXT NOT NULL DEFAULT '',
  event_id TEXT NOT NULL DEFAULT '',
  session_id TEXT NOT NULL DEFAULT '',
  visit INTEGER NOT NULL DEFAULT 0,             -- its number in the conversation
  situation TEXT NOT NULL DEFAULT '{}',         -- JSON: place, role, stakes …
  summary TEXT NOT NULL DEFAULT '{}',           -- JSON: content, action taken, key outcome, future implication
  workflow TEXT NOT NULL DEFAULT '{}',          -- JSON: current task, completed and pending items
  state_snapshot TEXT NOT NULL DEFAULT '{}',    -- JSON
  tags TEXT NOT NULL DEFAULT '[]',              -- JSON
  cues TEXT NOT NULL DEFAULT '[]',              -- JSON
  closed_ms INTEGER
) STRICT;
CREATE INDEX episodes_by_state ON episodes (state);

CREATE TABLE facts (
  -- A fact, most often a note about a user.
  id TEXT PRIMARY KEY REFERENCES records (id) ON DELETE CASCADE,
  subject TEXT NOT NULL,
  predicate TEXT NOT NULL,
  object TEXT NOT NULL,
  topic TEXT NOT NULL CHECK (topic IN ('role', 'answering', 'work', 'preference', 'other')),
  confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
  claimed_by TEXT NOT NULL DEFAULT '',          -- Slack id of the user who said it
  valid_from_ms INTEGER NOT NULL,
  valid_until_ms INTEGER,                       -- NULL: it still holds
  why_ended TEXT NOT NULL DEFAULT '',           -- superseded (the newer fact is linked), retired or wrong
  used INTEGER NOT NULL DEFAULT 0,              -- how often a reply cited it
  used_ms INTEGER
) STRICT;
CREATE INDEX facts_by_subject ON facts (subject, predicate);

CREATE TABLE senses (
  -- A file that was seen, heard or read.
  id TEXT PRIMARY KEY REFERENCES records (id) ON DELETE CASCADE,
  data_type TEXT NOT NULL CHECK (data_type IN ('image', 'audio', 'visual_pattern', 'text_visual', 'document')),
  source TEXT NOT NULL DEFAULT 'perception',
  name TEXT NOT NULL DEFAULT '',                -- of the file, as its sender called it
  media_type TEXT NOT NULL DEFAULT '',
  raw_data_ref TEXT NOT NULL DEFAULT '',        -- digest of the bytes in SOUL_HOME/senses
  bytes INTEGER NOT NULL DEFAULT 0,
  qualia TEXT NOT NULL DEFAULT '{}',            -- JSON
  features TEXT NOT NULL DEFAULT '{}',          -- JSON: description, visible text …
  physio_snapshot TEXT NOT NULL DEFAULT '{}'    -- JSON
) STRICT;
CREATE INDEX senses_by_bytes ON senses (raw_data_ref) WHERE raw_data_ref <> '';

CREATE TABLE journal (
  -- A line that a soul wrote for itself about a visit.
  id TEXT PRIMARY KEY REFERENCES records (id) ON DELETE CASCADE,
  tone TEXT NOT NULL DEFAULT '',
  tags TEXT NOT NULL DEFAULT '[]'               -- JSON
) STRICT;

CREATE TABLE ledger (
  -- A write to memory, chained to the one before. Without its salt a digest says nothing about the words.
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  act TEXT NOT NULL,
  object TEXT NOT NULL,                         -- id of a record, a turn or an audit row
  reason TEXT NOT NULL DEFAULT '',              -- never words of people
  salt TEXT NOT NULL DEFAULT '',
  digest TEXT NOT NULL,                         -- of salt and content
  chain TEXT NOT NULL,                          -- digest of the row before and this one
  at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX ledger_by_object ON ledger (object);

CREATE TABLE shared_files (
  -- A file in a message, until it is a record and after.
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
  ts TEXT NOT NULL,                             -- of the message
  file TEXT NOT NULL,                           -- Slack's id
  name TEXT NOT NULL,                           -- as its sender called it
  media_type TEXT NOT NULL,                     -- as Slack says, then as it was found
  size INTEGER NOT NULL,
  url TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'read', 'refused', 'recorded')),
  reason TEXT NOT NULL DEFAULT '',              -- why it was refused
  kind TEXT NOT NULL DEFAULT '',                -- image, audio or document
  found TEXT NOT NULL DEFAULT '{}',             -- JSON: what was read of it, until its record is made
  digest TEXT NOT NULL DEFAULT '',              -- of the bytes in SOUL_HOME/senses, if they are kept
  kept INTEGER NOT NULL DEFAULT 0,              -- how many bytes these are
  record TEXT NOT NULL DEFAULT '',              -- id of its sense
  heard_ms INTEGER NOT NULL,
  UNIQUE (conversation, ts, file)
) STRICT;
CREATE INDEX shared_files_by_message ON shared_files (ts);
CREATE INDEX shared_files_waiting ON shared_files (conversation, state) WHERE state IN ('waiting', 'read');
CREATE INDEX shared_files_unread ON shared_files (heard_ms) WHERE state IN ('waiting', 'refused');
CREATE INDEX shared_files_kept ON shared_files (digest) WHERE digest <> '';
CREATE INDEX shared_files_recorded ON shared_files (record) WHERE record <> '';
CREATE INDEX shared_files_read ON shared_files (heard_ms) WHERE state = 'read';

CREATE TABLE loose_bytes (
  -- Bytes in SOUL_HOME/senses that may belong to no file any more.
  digest TEXT PRIMARY KEY
) STRICT;
CREATE TRIGGER files_go_with_their_turn AFTER DELETE ON turns WHEN OLD.speaker = 'person'
BEGIN
  -- A file goes with its message and with its record, and the bytes with their last file.
  DELETE FROM shared_files WHERE conversation = OLD.conversation AND ts = OLD.ts;
END;
CREATE TRIGGER files_go_with_their_sense AFTER DELETE ON senses
BEGIN
  DELETE FROM shared_files WHERE record = OLD.id AND record <> '';
  INSERT INTO loose_bytes (digest) SELECT OLD.raw_data_ref WHERE OLD.raw_data_ref <> '' ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER bytes_go_with_their_file AFTER DELETE ON shared_files WHEN OLD.digest <> ''
BEGIN
  INSERT INTO loose_bytes (digest) VALUES (OLD.digest) ON CONFLICT DO NOTHING;
END;

CREATE TABLE passport_turns (
  -- A turn that a passport brought under another id than its number gives.
  seq INTEGER PRIMARY KEY REFERENCES turns (seq) ON DELETE CASCADE,
  id TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE passport_unfinished (
  -- A record that an import has stored and not yet linked: a second import finishes it.
  id TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- The search. Of each full-text index (fts5) SQLite keeps three more tables. `usermerge` makes it join two segments of
-- a size, since a search reads them all.

CREATE TABLE library_files (
  -- A file of the admin's library.
  path TEXT PRIMARY KEY,                        -- as it is cited: folder/inside/it
  stamp TEXT NOT NULL,                          -- size and time of the file when it was read
  indexed_ms INTEGER NOT NULL,
  fault TEXT NOT NULL DEFAULT ''                -- why it is not read to its end
) STRICT;

CREATE TABLE library_passages (
  -- A passage of such a file.
  seq INTEGER PRIMARY KEY AUTOINCREMENT,        -- its id is LB_ and this
  path TEXT NOT NULL REFERENCES library_files (path) ON DELETE CASCADE,
  line INTEGER NOT NULL,                        -- where it begins
  body TEXT NOT NULL,
  place TEXT NOT NULL DEFAULT ''                -- as `page 12`, where the line says little
) STRICT;
CREATE INDEX library_passages_by_path ON library_passages (path);

CREATE TABLE turn_words (
  -- The words of a turn, each once, in the form in which they are compared.
  seq INTEGER PRIMARY KEY,
  readers TEXT NOT NULL,                        -- codes of those who may find it, with a space between
  words TEXT NOT NULL
) STRICT;
CREATE VIRTUAL TABLE turn_index
  -- The full-text index of them: each word behind the code of a reader (12 characters), beginnings of 3 to 5 letters.
  USING fts5 (entries, content = '', columnsize = 0, detail = none, tokenize = 'ascii', prefix = '15 16 17');
INSERT INTO turn_index (turn_index, rank) VALUES ('usermerge', 2);
CREATE TABLE library_words (
  -- The words of a passage of the library, each once, in the form in which they are compared.
  seq INTEGER PRIMARY KEY,
  readers TEXT NOT NULL,                        -- codes of those who may find it, with a space between
  words TEXT NOT NULL
) STRICT;
CREATE VIRTUAL TABLE library_index
  -- The full-text index of them: each word behind the code of a reader (12 characters), beginnings of 3 to 5 letters.
  USING fts5 (entries, content = '', columnsize = 0, detail = none, tokenize = 'ascii', prefix = '15 16 17');
INSERT INTO library_index (library_index, rank) VALUES ('usermerge', 2);
CREATE TABLE record_words (
  -- The words of a record, each once, in the form in which they are compared.
  seq INTEGER PRIMARY KEY,
  readers TEXT NOT NULL,                        -- codes of those who may find it, with a space between
  words TEXT NOT NULL
) STRICT;
CREATE VIRTUAL TABLE record_index
  -- The full-text index of them: each word behind the code of a reader (12 characters), beginnings of 3 to 5 letters.
  USING fts5 (entries, content = '', columnsize = 0, detail = none, tokenize = 'ascii', prefix = '15 16 17');
INSERT INTO record_index (record_index, rank) VALUES ('usermerge', 2);

CREATE TABLE index_sizes (
  -- How many rows of an index have the code of a reader: a word is rare or frequent among these.
  name TEXT NOT NULL,                           -- turn, library or record
  code TEXT NOT NULL,
  size INTEGER NOT NULL,
  PRIMARY KEY (name, code)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER turn_words_counted AFTER INSERT ON turn_words
BEGIN
  INSERT INTO index_sizes (name, code, size)
  SELECT 'turn', value, 1 FROM json_each('["' || replace(NEW.readers, ' ', '","') || '"]') WHERE true
  ON CONFLICT (name, code) DO UPDATE SET size = size + excluded.size;
END;
CREATE TRIGGER turn_words_discounted AFTER DELETE ON turn_words
BEGIN
  INSERT INTO index_sizes (name, code, size)
  SELECT 'turn', value, -1 FROM json_each('["' || replace(OLD.readers, ' ', '","') || '"]') WHERE true
  ON CONFLICT (name, code) DO UPDATE SET size = size + excluded.size;
END;
CREATE TRIGGER library_words_counted AFTER INSERT ON library_words
BEGIN
  INSERT INTO index_sizes (name, code, size)
  SELECT 'library', value, 1 FROM json_each('["' || replace(NEW.readers, ' ', '","') || '"]') WHERE true
  ON CONFLICT (name, code) DO UPDATE SET size = size + excluded.size;
END;
CREATE TRIGGER library_words_discounted AFTER DELETE ON library_words
BEGIN
  INSERT INTO index_sizes (name, code, size)
  SELECT 'library', value, -1 FROM json_each('["' || replace(OLD.readers, ' ', '","') || '"]') WHERE true
  ON CONFLICT (name, code) DO UPDATE SET size = size + excluded.size;
END;
CREATE TRIGGER record_words_counted AFTER INSERT ON record_words
BEGIN
  INSERT INTO index_sizes (name, code, size)
  SELECT 'record', value, 1 FROM json_each('["' || replace(NEW.readers, ' ', '","') || '"]') WHERE true
  ON CONFLICT (name, code) DO UPDATE SET size = size + excluded.size;
END;
CREATE TRIGGER record_words_discounted AFTER DELETE ON record_words
BEGIN
  INSERT INTO index_sizes (name, code, size)
  SELECT 'record', value, -1 FROM json_each('["' || replace(OLD.readers, ' ', '","') || '"]') WHERE true
  ON CONFLICT (name, code) DO UPDATE SET size = size + excluded.size;
END;

CREATE TABLE erased_words (
  -- An index that lost rows, whose words are still in its pages.
  name TEXT PRIMARY KEY,
  rows_gone INTEGER NOT NULL
) STRICT;

CREATE TABLE distrusted_indexes (
  -- An index that was found damaged and is built again.
  name TEXT PRIMARY KEY,
  rebuilt_to INTEGER NOT NULL                   -- the last row that it holds as it should; -1: it must be emptied first
) STRICT;

CREATE TABLE vector_queue (
  -- A turn, record or passage whose vector has to follow a change, or an order, which begins with "!".
  seq INTEGER PRIMARY KEY AUTOINCREMENT,        -- another one if the row changes while it is worked on
  id TEXT NOT NULL UNIQUE
) STRICT;
CREATE TRIGGER turns_added_queued AFTER INSERT ON turns
BEGIN
  -- A new or changed id goes to the end of the queue.
  DELETE FROM vector_queue WHERE id IN (SELECT CASE NEW.speaker WHEN 'soul' THEN 'TL_' ELSE 'TU_' END || NEW.seq);
  INSERT INTO vector_queue (id) SELECT CASE NEW.speaker WHEN 'soul' THEN 'TL_' ELSE 'TU_' END || NEW.seq;
END;
CREATE TRIGGER turns_changed_queued AFTER UPDATE OF body, name, audience, kind ON turns
BEGIN
  DELETE FROM vector_queue WHERE id IN (SELECT CASE NEW.speaker WHEN 'soul' THEN 'TL_' ELSE 'TU_' END || NEW.seq);
  INSERT INTO vector_queue (id) SELECT CASE NEW.speaker WHEN 'soul' THEN 'TL_' ELSE 'TU_' END || NEW.seq;
END;
CREATE TRIGGER turns_deleted_queued AFTER DELETE ON turns
BEGIN
  DELETE FROM vector_queue WHERE id IN (SELECT CASE OLD.speaker WHEN 'soul' THEN 'TL_' ELSE 'TU_' END || OLD.seq);
  INSERT INTO vector_queue (id) SELECT CASE OLD.speaker WHEN 'soul' THEN 'TL_' ELSE 'TU_' END || OLD.seq;
END;
CREATE TRIGGER records_added_queued AFTER INSERT ON records
BEGIN
  DELETE FROM vector_queue WHERE id IN (SELECT NEW.id);
  INSERT INTO vector_queue (id) SELECT NEW.id;
END;
CREATE TRIGGER records_changed_queued AFTER UPDATE OF text, audience, channel ON records
BEGIN
  DELETE FROM vector_queue WHERE id IN (SELECT NEW.id);
  INSERT INTO vector_queue (id) SELECT NEW.id;
END;
CREATE TRIGGER records_deleted_queued AFTER DELETE ON records
BEGIN
  DELETE FROM vector_queue WHERE id IN (SELECT OLD.id);
  INSERT INTO vector_queue (id) SELECT OLD.id;
END;
CREATE TRIGGER library_passages_added_queued AFTER INSERT ON library_passages
BEGIN
  DELETE FROM vector_queue WHERE id IN (SELECT 'LB_' || NEW.seq);
  INSERT INTO vector_queue (id) SELECT 'LB_' || NEW.seq;
END;
CREATE TRIGGER library_passages_changed_queued AFTER UPDATE OF body, path ON library_passages
BEGIN
  DELETE FROM vector_queue WHERE id IN (SELECT 'LB_' || NEW.seq);
  INSERT INTO vector_queue (id) SELECT 'LB_' || NEW.seq;
END;
CREATE TRIGGER library_passages_deleted_queued AFTER DELETE ON library_passages
BEGIN
  DELETE FROM vector_queue WHERE id IN (SELECT 'LB_' || OLD.seq);
  INSERT INTO vector_queue (id) SELECT 'LB_' || OLD.seq;
END;
CREATE TRIGGER turns_changed_follower AFTER UPDATE OF body, name, audience, kind ON turns
BEGIN
  -- A turn is embedded together with the one before it, too.
  DELETE FROM vector_queue WHERE id IN (
    SELECT CASE t.speaker WHEN 'soul' THEN 'TL_' ELSE 'TU_' END || t.seq FROM turns t
    WHERE t.seq = (SELECT min(seq) FROM turns WHERE conversation = OLD.conversation AND seq > OLD.seq)
  );
  INSERT INTO vector_queue (id)
    SELECT CASE t.speaker WHEN 'soul' THEN 'TL_' ELSE 'TU_' END || t.seq FROM turns t
    WHERE t.seq = (SELECT min(seq) FROM turns WHERE conversation = OLD.conversation AND seq > OLD.seq);
END;
CREATE TRIGGER turns_deleted_follower AFTER DELETE ON turns
BEGIN
  DELETE FROM vector_queue WHERE id IN (
    SELECT CASE t.speaker WHEN 'soul' THEN 'TL_' ELSE 'TU_' END || t.seq FROM turns t
    WHERE t.seq = (SELECT min(seq) FROM turns WHERE conversation = OLD.conversation AND seq > OLD.seq)
  );
  INSERT INTO vector_queue (id)
    SELECT CASE t.speaker WHEN 'soul' THEN 'TL_' ELSE 'TU_' END || t.seq FROM turns t
    WHERE t.seq = (SELECT min(seq) FROM turns WHERE conversation = OLD.conversation AND seq > OLD.seq);
END;

CREATE TABLE surfaced (
  -- A memory that was shown to a reply while it was made, by id alone.
  trace_id TEXT NOT NULL,                       -- of the reply
  id TEXT NOT NULL,                             -- TU_12, sem_0a1b2c3d, LB_7 …
  mark TEXT NOT NULL,                           -- by which the reply may cite it: `m1 3`; '': a fact of a user
  score REAL NOT NULL,
  at_ms INTEGER NOT NULL,
  PRIMARY KEY (trace_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX surfaced_by_id ON surfaced (id);
CREATE TRIGGER surfaced_goes_with_its_reply AFTER DELETE ON turns WHEN OLD.speaker = 'soul'
BEGIN
  DELETE FROM surfaced WHERE trace_id = OLD.trace_id
    AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.trace_id = OLD.trace_id AND t.speaker = 'soul');
END;

-- The nights, in which memory is looked through

CREATE TABLE consolidation_slots (
  -- The newest night of a soul: one daemon at a time works on it, and it is done once.
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  slot_ms INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('open', 'done')),
  by_hand INTEGER NOT NULL DEFAULT 0 CHECK (by_hand IN (0, 1)), -- an admin asked for it
  ordered_ms INTEGER,                           -- when an admin asked for one that is not begun
  tries INTEGER NOT NULL DEFAULT 0,             -- how often audiences that failed were tried again
  not_before INTEGER NOT NULL DEFAULT 0,
  lease_owner TEXT NOT NULL DEFAULT '',         -- presence.id
  lease_until INTEGER NOT NULL DEFAULT 0,
  fence INTEGER NOT NULL DEFAULT 0,
  learned_tokens INTEGER NOT NULL DEFAULT 0,    -- spent by jobs that close visits, which the night pays for
  PRIMARY KEY (soul, workspace)
) STRICT, WITHOUT ROWID;

CREATE TABLE consolidations (
  -- A run: what was done in a night for one audience. Where there is nothing to do there is none.
  id TEXT PRIMARY KEY,                          -- RUN_20260128_001
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  slot_ms INTEGER NOT NULL,
  audience TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('running', 'done', 'cut', 'failed', 'undone')),
  did TEXT NOT NULL DEFAULT '{}',               -- JSON: the number of memories changed, by part
  tokens INTEGER NOT NULL DEFAULT 0,            -- in and out
  error TEXT NOT NULL DEFAULT '',
  began_ms INTEGER NOT NULL,
  ended_ms INTEGER,
  UNIQUE (soul, workspace, slot_ms, audience)
) STRICT;
CREATE INDEX consolidations_by_age ON consolidations (began_ms);
CREATE INDEX consolidations_by_audience ON consolidations (soul, workspace, audience, began_ms);

CREATE TABLE consolidation_changes (
  -- A change that a run made, by which it is undone; it holds no words.
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  run TEXT NOT NULL REFERENCES consolidations (id) ON DELETE CASCADE,
  unit INTEGER NOT NULL,                        -- changes of one unit are undone together or not at all
  part TEXT NOT NULL,
  act TEXT NOT NULL CHECK (act IN ('put', 'change', 'link')),
  object TEXT NOT NULL,
  former TEXT NOT NULL,                         -- JSON: what fields were before, or the other end of a link
  stamp_before INTEGER NOT NULL,                -- the last write to the object before the change
  stamp INTEGER NOT NULL,                       -- and after it
  lost INTEGER NOT NULL DEFAULT 0               -- a line about a user is gone with it
) STRICT;
CREATE INDEX consolidation_changes_by_run ON consolidation_changes (run, seq);

CREATE TABLE consolidation_items (
  -- A record that a part of the night has looked at, or failed at.
  part TEXT NOT NULL,
  object TEXT NOT NULL REFERENCES records (id) ON DELETE CASCADE,
  seen_ms INTEGER,                              -- when it was looked at last; NULL: never to the end
  faults INTEGER NOT NULL DEFAULT 0,            -- at most one a night
  parked INTEGER NOT NULL DEFAULT 0 CHECK (parked IN (0, 1)),
  reason TEXT NOT NULL DEFAULT '',
  fault_slot_ms INTEGER NOT NULL DEFAULT 0,     -- the night of the last fault
  PRIMARY KEY (part, object)
) STRICT, WITHOUT ROWID;
CREATE INDEX consolidation_items_by_object ON consolidation_items (object);

-- The mind: what a soul thinks, intends, expects and holds of itself

CREATE TABLE thoughts (
  -- A whole thought. Erasure takes its words (`input`, `output`) and leaves the numbers.
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  conversation TEXT NOT NULL,
  audience TEXT NOT NULL,
  readers TEXT NOT NULL,                        -- JSON: before whom it was thought
  trace_id TEXT NOT NULL,
  previous TEXT NOT NULL,                       -- the thought before it in the conversation
  at_ms INTEGER NOT NULL,
  occasion TEXT NOT NULL CHECK (occasion IN
    ('words', 'due', 'surprise', 'sense', 'result', 'visit_end', 'wake', 'awakening', 'resumption')),
  process TEXT NOT NULL,                        -- the mental process
  asked INTEGER NOT NULL CHECK (asked IN (0, 1)), -- a whole thought was asked for
  degraded INTEGER NOT NULL CHECK (degraded IN (0, 1)), -- the model's answer could not be read
  spoke INTEGER NOT NULL CHECK (spoke IN (0, 1)),
  surprise REAL,                                -- 0 to 1
  did TEXT NOT NULL,                            -- JSON: how many parts of each field took effect
  refused TEXT NOT NULL,                        -- JSON: which fields lost a part, and why
  calls INTEGER NOT NULL,                       -- model calls, with their tokens and costs
  tokens_in INTEGER NOT NULL,
  tokens_out INTEGER NOT NULL,
  cost_usd REAL NOT NULL,
  saw_to INTEGER NOT NULL,                      -- it saw all turns of the conversation up to this seq
  passing INTEGER NOT NULL CHECK (passing IN (0, 1)), -- nothing of it is to be remembered
  emptied INTEGER NOT NULL DEFAULT 0 CHECK (emptied IN (0, 1)), -- it has lost its words
  -- Long columns come late: the others are read without them.
  input TEXT NOT NULL,                          -- JSON: CognitiveInput; '': another step than `think` made it
  output TEXT NOT NULL,                         -- JSON: CognitiveOutput
  aged INTEGER NOT NULL DEFAULT 0 CHECK (aged IN (0, 1)) -- it lost its words by age: what rests on it keeps its own
) STRICT;
CREATE INDEX thoughts_by_conversation ON thoughts (conversation, seq);
CREATE INDEX thoughts_by_audience ON thoughts (soul, workspace, audience, seq);
CREATE INDEX thoughts_with_words ON thoughts (at_ms) WHERE emptied = 0;
CREATE INDEX thoughts_by_soul ON thoughts (soul, seq);
CREATE INDEX thoughts_asked ON thoughts (soul, workspace, seq) WHERE asked = 1;
CREATE INDEX thoughts_degraded ON thoughts (soul, workspace, seq) WHERE degraded = 1;
CREATE INDEX thoughts_that_saw ON thoughts (conversation, saw_to) WHERE emptied = 0;
CREATE INDEX thoughts_aged ON thoughts (conversation, saw_to) WHERE aged = 1;
CREATE INDEX thoughts_by_time ON thoughts (soul, at_ms);
CREATE TRIGGER feelings_go_with_their_thought AFTER UPDATE OF emptied, audience ON thoughts
  WHEN NEW.emptied = 1 OR NEW.audience <> OLD.audience
BEGIN
  UPDATE soul_state SET felt_quality = '', felt_by = '' WHERE felt_by = NEW.id AND felt_by <> '';
END;

CREATE TABLE thought_sources (
  -- A thought, a turn from elsewhere or a record that a thought saw.
  thought TEXT NOT NULL REFERENCES thoughts (id),
  source TEXT NOT NULL,
  PRIMARY KEY (thought, source)
) STRICT, WITHOUT ROWID;
CREATE INDEX thought_sources_by_source ON thought_sources (source);

CREATE TABLE thought_notes (
  -- A record that a thought noted.
  record TEXT PRIMARY KEY REFERENCES records (id) ON DELETE CASCADE,
  thought TEXT NOT NULL,
  adrift INTEGER NOT NULL DEFAULT 0 CHECK (adrift IN (0, 1)) -- the thought lost its words: shown to no reader
) STRICT, WITHOUT ROWID;
CREATE INDEX thought_notes_by_thought ON thought_notes (thought);
CREATE INDEX thought_notes_adrift ON thought_notes (record) WHERE adrift = 1;

CREATE TABLE changed_words (
  -- An id whose words changed or went lately, for thoughts that are under way. The first row has none and turns it on.
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  source TEXT NOT NULL
) STRICT;

CREATE TABLE aged_turns (
  -- A turn that was deleted by its age. Thoughts may rest on it: if its message is deleted, they are emptied too.
  seq INTEGER PRIMARY KEY,
  workspace TEXT NOT NULL,
  channel TEXT NOT NULL,
  ts TEXT NOT NULL,
  conversation TEXT NOT NULL,
  author TEXT NOT NULL
) STRICT;
CREATE INDEX aged_turns_by_message ON aged_turns (workspace, channel, ts);
CREATE INDEX aged_turns_by_author ON aged_turns (workspace, author);

CREATE TABLE goals (
  -- Something that a soul means to do. With `follow_up` it is a promise to the user of `behalf`.
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  soul TEXT NOT NULL,
  id TEXT NOT NULL,                             -- G1, G2 … of the soul
  workspace TEXT NOT NULL,
  conversation TEXT NOT NULL,
  audience TEXT NOT NULL,
  readers TEXT NOT NULL,                        -- JSON: before whom it was made
  behalf TEXT NOT NULL,                         -- the user for whom it was made
  goal TEXT NOT NULL,
  same_words TEXT NOT NULL,                     -- the goal in small letters and without marks, to know it again
  priority REAL NOT NULL CHECK (priority BETWEEN 0 AND 1),
  state TEXT NOT NULL CHECK (state IN ('open', 'done', 'abandoned', 'proposed')),
  follow_up INTEGER NOT NULL CHECK (follow_up IN (0, 1)),
  due_ms INTEGER,
  created_ms INTEGER NOT NULL,
  touched_ms INTEGER NOT NULL,                  -- an open goal that is untouched for long is stale
  closed_ms INTEGER,
  stale_shown INTEGER NOT NULL DEFAULT 0 CHECK (stale_shown IN (0, 1)), -- a thought was shown it as stale
  why TEXT NOT NULL,                            -- of its last change
  thought TEXT NOT NULL,                        -- the thought that made it; '': an admin did
  changed_by TEXT NOT NULL,                     -- the thought whose words `why` holds
  woken_ms INTEGER NOT NULL DEFAULT 0,          -- the due time for which a tick was made already
  said_in TEXT NOT NULL DEFAULT '',             -- outbox.id of the post that promised it
  kept_ms INTEGER,                              -- when words about it ended the promise
  UNIQUE (soul, id)
) STRICT;
CREATE INDEX goals_in_force ON goals (soul, workspace, audience, touched_ms) WHERE state = 'open';
CREATE INDEX goals_by_conversation ON goals (conversation);
CREATE INDEX goals_by_thought ON goals (thought);
CREATE INDEX goals_changed_by ON goals (changed_by);
CREATE INDEX goals_by_person ON goals (behalf, workspace);
CREATE INDEX goals_by_soul ON goals (soul, seq);
CREATE INDEX goals_fresh ON goals (soul, max(touched_ms, coalesce(due_ms, 0))) WHERE state = 'open';
CREATE INDEX goals_to_wake ON goals (soul, workspace, due_ms) WHERE state = 'open' AND due_ms > woken_ms;
CREATE INDEX goals_open_here ON goals (conversation, touched_ms) WHERE state = 'open';
CREATE INDEX goals_owed ON goals (soul, workspace, due_ms)
  WHERE state = 'open' AND follow_up = 1 AND kept_ms IS NULL AND said_in <> '';

CREATE TABLE predictions (
  -- Something that a soul expects. Its words go with those of its thought, numbers stay.
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  soul TEXT NOT NULL,
  id TEXT NOT NULL,                             -- P1, P2 … of the soul
  workspace TEXT NOT NULL,
  conversation TEXT NOT NULL,
  audience TEXT NOT NULL,
  readers TEXT NOT NULL,                        -- JSON: before whom it was expected
  thought TEXT NOT NULL REFERENCES thoughts (id),
  confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
  kind TEXT NOT NULL                            -- what decides it
    CHECK (kind IN ('reply', 'mention', 'silence', 'goal', 'tool', 'sense', 'none')),
  goal TEXT NOT NULL,                           -- the goal that has to be completed; '': another kind
  made_ms INTEGER NOT NULL,
  due_ms INTEGER NOT NULL,
  exchanges INTEGER,                            -- how many replies are left, where it waits for replies
  state TEXT NOT NULL CHECK (state IN ('open', 'hit', 'miss', 'unresolved', 'withdrawn')),
  scored_by TEXT NOT NULL DEFAULT '' CHECK (scored_by IN ('', 'rule', 'person', 'judge')),
  surprise REAL,                                -- 0 to 1
  scored_ms INTEGER,
  shown INTEGER NOT NULL DEFAULT 0 CHECK (shown IN (0, 1)), -- a thought was shown the outcome
  what TEXT NOT NULL,
  timeframe TEXT NOT NULL,
  awaited TEXT NOT NULL,                        -- JSON: the check
  woken INTEGER NOT NULL DEFAULT 0 CHECK (woken IN (0, 1)), -- the surprise has made a tick
  UNIQUE (soul, id)
) STRICT;
CREATE INDEX predictions_here ON predictions (conversation, seq) WHERE state = 'open';
CREATE INDEX predictions_due ON predictions (soul, workspace, due_ms) WHERE state = 'open';
CREATE INDEX predictions_in_force ON predictions (soul, workspace, audience, seq) WHERE state = 'open';
CREATE INDEX predictions_unseen ON predictions (conversation, surprise) WHERE shown = 0 AND state IN ('hit', 'miss');
CREATE INDEX predictions_of_goals ON predictions (soul, goal) WHERE state = 'open' AND goal <> '';
CREATE INDEX predictions_by_thought ON predictions (thought);
CREATE INDEX predictions_by_soul ON predictions (soul, seq);
CREATE INDEX predictions_scored ON predictions (soul, state, scored_ms, kind, confidence);
CREATE INDEX predictions_to_wake ON predictions (soul, workspace, scored_ms)
  WHERE shown = 0 AND woken = 0 AND surprise >= 0.5;
CREATE TRIGGER predictions_go_with_thoughts AFTER UPDATE OF emptied ON thoughts
  WHEN NEW.emptied = 1 AND OLD.emptied = 0
BEGIN
  UPDATE predictions SET what = '', timeframe = '', awaited = json_object('kind', kind),
    state = CASE state WHEN 'open' THEN 'withdrawn' ELSE state END
  WHERE thought = NEW.id;
END;
CREATE TRIGGER predictions_narrow_with_thoughts AFTER UPDATE OF audience ON thoughts
BEGIN
  UPDATE predictions SET audience = NEW.audience WHERE thought = NEW.id;
END;
CREATE TRIGGER predictions_of_goals_done AFTER UPDATE OF state ON goals
  WHEN NEW.state = 'done' AND OLD.state <> 'done'
BEGIN
  UPDATE predictions SET state = 'hit', scored_by = 'rule', surprise = 1 - confidence, scored_ms = NEW.closed_ms
  WHERE soul = NEW.soul AND goal = NEW.id AND state = 'open' AND goal <> '' AND due_ms >= NEW.closed_ms;
END;

CREATE TABLE prediction_sums (
  -- The outcome of all that a soul expected, as sums.
  soul TEXT PRIMARY KEY,
  scored INTEGER NOT NULL,
  hits INTEGER NOT NULL,
  confidence REAL NOT NULL,
  squared REAL NOT NULL                         -- of the surprises
) STRICT;
CREATE TRIGGER predictions_summed AFTER UPDATE OF state ON predictions
  WHEN OLD.state = 'open' AND NEW.state IN ('hit', 'miss')
BEGIN
  INSERT INTO prediction_sums (soul, scored, hits, confidence, squared)
  VALUES (NEW.soul, 1, NEW.state = 'hit', NEW.confidence, NEW.surprise * NEW.surprise)
  ON CONFLICT (soul) DO UPDATE SET scored = scored + 1, hits = hits + excluded.hits,
    confidence = confidence + excluded.confidence, squared = squared + excluded.squared;
END;

CREATE TABLE mind_documents (
  -- A version of a part of what a soul holds of itself and its world. The newest one of a part is in force.
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,                      -- '': of the soul itself (values, identity)
  audience TEXT NOT NULL,                       -- '': of the soul itself
  document TEXT NOT NULL CHECK (document IN ('self_model', 'world_model', 'values', 'identity')),
  part TEXT NOT NULL,
  attribute TEXT NOT NULL,                      -- of an entity, or what an uncertainty is known by
  act TEXT NOT NULL CHECK (act IN
    ('hold', 'drop', 'adopt', 'reinterpret', 'deactivate', 'draft', 'commit', 'revise', 'withdraw')),
  words TEXT NOT NULL,
  why TEXT NOT NULL,
  person TEXT NOT NULL,                         -- the user whom a belief is about
  thought TEXT NOT NULL,
  conversation TEXT NOT NULL,                   -- where it was thought
  readers TEXT NOT NULL,                        -- JSON: before whom
  at_ms INTEGER NOT NULL,
  until_ms INTEGER,                             -- when a belief about a user fades
  newest INTEGER NOT NULL CHECK (newest IN (0, 1))
) STRICT;
CREATE INDEX mind_documents_in_force ON mind_documents (soul, workspace, audience, document, seq) WHERE newest = 1;
CREATE INDEX mind_documents_by_part ON mind_documents (soul, workspace, audience, document, part, attribute, seq);
CREATE INDEX mind_documents_by_thought ON mind_documents (thought);
CREATE INDEX mind_documents_by_conversation ON mind_documents (conversation);
CREATE INDEX mind_documents_by_person ON mind_documents (person, workspace) WHERE person <> '';
CREATE INDEX mind_documents_by_end ON mind_documents (until_ms) WHERE until_ms IS NOT NULL;
CREATE INDEX mind_documents_by_age ON mind_documents (at_ms) WHERE audience <> '';
CREATE TRIGGER mind_documents_as_before AFTER DELETE ON mind_documents WHEN OLD.newest = 1
BEGIN
  -- If the version in force goes, the one before it is in force again.
  UPDATE mind_documents SET newest = 1 WHERE seq = (
    SELECT max(seq) FROM mind_documents WHERE soul = OLD.soul AND workspace = OLD.workspace
      AND audience = OLD.audience AND document = OLD.document AND part = OLD.part AND attribute = OLD.attribute);
END;

CREATE TABLE mind_authority (
  -- How much a function of a soul's mind may do by itself: 0 nothing, 1 propose, 2 act. It holds no words of users.
  soul TEXT NOT NULL,
  function TEXT NOT NULL,
  level INTEGER NOT NULL CHECK (level BETWEEN 0 AND 2),
  why TEXT NOT NULL,
  decided_by TEXT NOT NULL,                     -- an admin; 'house': too many parts were refused; '': not decided
  since_ms INTEGER NOT NULL,
  recent TEXT NOT NULL,                         -- a sign for each of its newest parts: 1 for a refused one, else 0
  PRIMARY KEY (soul, function)
) STRICT;

CREATE TABLE mind_authority_history (
  -- A change of such a level.
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  soul TEXT NOT NULL,
  function TEXT NOT NULL,
  level_before INTEGER NOT NULL,
  level INTEGER NOT NULL,
  why TEXT NOT NULL,
  decided_by TEXT NOT NULL,
  at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE ticks (
  -- Something about which a soul has to think unasked; it holds no words.
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  conversation TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('due', 'surprise', 'sense', 'result', 'visit_end', 'wake', 'awakening')),
  about TEXT NOT NULL,                          -- as the goal G1; '': all surprises, or its own wish
  due_ms INTEGER,                               -- NULL: over, or under way
  pause_ms INTEGER NOT NULL DEFAULT 0,          -- how long it waited before
  said TEXT NOT NULL DEFAULT '',                -- digest of what was thought about it last
  inbox TEXT NOT NULL DEFAULT '',               -- inbox.id while it is under way
  fruitless INTEGER NOT NULL DEFAULT 0,         -- how often in a row the soul woke by its own wish to no effect
  spoken INTEGER NOT NULL DEFAULT 0,            -- initiatives.seq of the last post about it
  noted_ms INTEGER NOT NULL DEFAULT 0,          -- since when it is to be thought about; 0: not asked
  UNIQUE (conversation, kind, about)
) STRICT;
CREATE INDEX ticks_due ON ticks (soul, workspace, due_ms) WHERE due_ms IS NOT NULL;
CREATE INDEX ticks_under_way ON ticks (inbox) WHERE inbox <> '';

CREATE TABLE tick_counts (
  -- How many ticks of a day (UTC) were thought about, or were not, with the reason.
  soul TEXT NOT NULL,
  day TEXT NOT NULL,
  reason TEXT NOT NULL,                         -- '': they were thought about
  n INTEGER NOT NULL,
  PRIMARY KEY (soul, day, reason)
) STRICT, WITHOUT ROWID;

CREATE TABLE invitations (
  -- A user or channel to whom a soul may or may not write unasked.
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  who TEXT NOT NULL,                            -- Slack id of the user or channel
  state TEXT NOT NULL CHECK (state IN ('unasked', 'invited', 'declined')),
  how TEXT NOT NULL DEFAULT '' CHECK (how IN ('', 'phrase', 'click', 'admin')), -- how that was decided
  granted_by TEXT NOT NULL DEFAULT '',          -- and by whom
  pause_ms INTEGER NOT NULL DEFAULT 0,          -- the length of its pause; the next one is twice as long
  until_ms INTEGER NOT NULL DEFAULT 0,          -- the end of the pause
  asked_ms INTEGER,                             -- when the soul asked
  at_ms INTEGER NOT NULL,
  PRIMARY KEY (soul, workspace, who)
) STRICT, WITHOUT ROWID;

CREATE TABLE initiatives (
  -- A post of a soul for which no user had asked.
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  conversation TEXT NOT NULL,
  who TEXT NOT NULL,                            -- whose invitation allowed it
  person TEXT NOT NULL,                         -- to whom it was said
  promised INTEGER NOT NULL DEFAULT 0 CHECK (promised IN (0, 1)), -- it kept a promise
  post TEXT NOT NULL DEFAULT '',                -- outbox.id of its first part
  disliked INTEGER NOT NULL DEFAULT 0 CHECK (disliked IN (0, 1)), -- it led to a pause already
  at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX initiatives_by_who ON initiatives (who, workspace, soul, seq);
CREATE INDEX initiatives_by_person ON initiatives (person, workspace);
CREATE INDEX initiatives_by_conversation ON initiatives (conversation, seq);
CREATE INDEX initiatives_by_post ON initiatives (post) WHERE post <> '';

CREATE TABLE readings (
  -- Something that a soul perceives besides words, in the conversation where it waits for a thought.
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  conversation TEXT NOT NULL,
  sense TEXT NOT NULL,                          -- who or what reports
  digest TEXT NOT NULL,                         -- of equal ones that wait the newest is kept
  words TEXT NOT NULL,                          -- '' if it was dropped, where too many waited
  concerns TEXT NOT NULL DEFAULT '',            -- the goal that it tells of
  n INTEGER NOT NULL DEFAULT 1 CHECK (n > 0),   -- how many equal ones it counts for
  at_ms INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'perceived', 'dropped')),
  perceived_by TEXT NOT NULL DEFAULT '',        -- trace_id of the cycle that perceived it, or heard that it was dropped
  perceived_ms INTEGER,
  said TEXT NOT NULL DEFAULT '',                -- digest of what was thought then
  wakes_ms INTEGER                              -- when it wakes a thought; NULL: never, or it did
) STRICT;
CREATE INDEX readings_waiting ON readings (conversation, seq) WHERE state = 'waiting';
CREATE INDEX readings_dropped ON readings (soul, state, at_ms) WHERE state = 'dropped';
CREATE INDEX readings_unheard_of ON readings (conversation, seq) WHERE state = 'dropped' AND perceived_by = '';
CREATE INDEX readings_perceived ON readings (conversation, digest, seq) WHERE state = 'perceived';
CREATE INDEX readings_that_wake ON readings (soul, workspace, wakes_ms) WHERE wakes_ms IS NOT NULL;
CREATE INDEX readings_by_age ON readings (at_ms);

CREATE TABLE sensed (
  -- The id that a program gave to a reading, with the answer that it got. It stays: nothing is perceived twice.
  source TEXT NOT NULL,                         -- whose token or secret it came with
  event TEXT NOT NULL,
  digest TEXT NOT NULL,
  perceived_by TEXT NOT NULL,                   -- JSON: the conversations
  at_ms INTEGER NOT NULL,
  PRIMARY KEY (source, event)
) STRICT, WITHOUT ROWID;
CREATE INDEX sensed_by_age ON sensed (source, at_ms);

CREATE TABLE awakenings (
  -- A workspace in which a soul has a room of its own for thoughts.
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  began_ms INTEGER NOT NULL,
  woke_ms INTEGER,                              -- when its first thought was thought; NULL: not yet
  seen_ms INTEGER NOT NULL,                     -- when a daemon that hosts it last lived
  thinks INTEGER NOT NULL CHECK (thinks IN (0, 1)), -- it thinks by itself there
  PRIMARY KEY (soul, workspace)
) STRICT, WITHOUT ROWID;

-- What souls, daemons and people share

CREATE TABLE shared_context (
  -- A document under a key, in its newest version. A key that was never written has no row.
  context_key TEXT PRIMARY KEY,
  data TEXT NOT NULL DEFAULT '{}' CHECK (json_type(data) = 'object'),
  version INTEGER NOT NULL DEFAULT 0,           -- counts changes of the data
  audience TEXT NOT NULL,                       -- who may read it
  writers TEXT NOT NULL DEFAULT '[]' CHECK (json_type(writers) = 'array'), -- souls; none: all of this file
  author TEXT NOT NULL DEFAULT '',              -- of the newest version: a soul's name, or 'operator'
  updated_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE shared_context_history (
  -- A version of such a document.
  context_key TEXT NOT NULL REFERENCES shared_context (context_key) ON DELETE CASCADE,
  version INTEGER NOT NULL,
  data TEXT NOT NULL CHECK (json_type(data) = 'object'),
  author TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  redacted INTEGER NOT NULL DEFAULT 0 CHECK (redacted IN (0, 1)), -- without the words of a forgotten person
  PRIMARY KEY (context_key, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE awareness (
  -- A member who is present at a key now; the row goes with its process or its lease.
  context_key TEXT NOT NULL,
  member TEXT NOT NULL,
  process TEXT NOT NULL,                        -- presence.id with which it goes; 'http': with its lease
  state TEXT NOT NULL CHECK (json_type(state) = 'object'),
  places TEXT NOT NULL DEFAULT '[]' CHECK (json_type(places) = 'array'), -- where it works, each with who may know
  seen_ms INTEGER NOT NULL,
  until_ms INTEGER,                             -- the end of its lease; NULL: as long as its process lives
  PRIMARY KEY (context_key, member)
) STRICT, WITHOUT ROWID;

CREATE TABLE shared_messages (
  -- A note between souls, or what a user has a soul ask a session, and the answer to either.
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('note', 'answer', 'question', 'task', 'said')),
  sender TEXT NOT NULL,                         -- a soul's name, 'operator', or the id of a session
  addressee TEXT NOT NULL,                      -- the same
  workspace TEXT NOT NULL,
  conversation TEXT NOT NULL,                   -- from which it comes
  heard_in TEXT NOT NULL,                       -- in which it is perceived
  inbox TEXT NOT NULL,                          -- the row there, whose state it follows
  behalf TEXT NOT NULL,                         -- the user whose words led to it
  audience TEXT NOT NULL,                       -- who may know its words
  hops INTEGER NOT NULL,                        -- from that user's words
  answers TEXT NOT NULL DEFAULT '',             -- the note that it answers
  state TEXT NOT NULL
    CHECK (state IN ('held', 'waiting', 'delivered', 'answered', 'refused', 'expired', 'dropped')),
  reason TEXT NOT NULL DEFAULT '',
  how TEXT NOT NULL DEFAULT '' CHECK (how IN ('', 'socket', 'stop', 'fetch', 'inbox')), -- the way it was delivered
  created_ms INTEGER NOT NULL,
  delivered_ms INTEGER,
  answered_ms INTEGER,
  words TEXT NOT NULL,
  -- Of questions and tasks for a session, and of the answers to them:
  owner TEXT NOT NULL DEFAULT '',               -- the user whose session it is; '': forgotten
  called TEXT NOT NULL DEFAULT '',              -- the session's name when it was asked
  asker TEXT NOT NULL DEFAULT '',               -- the name of the user who asks
  reply_to TEXT NOT NULL DEFAULT '',            -- the thread in which the answer is read
  said_ts TEXT NOT NULL DEFAULT '',             -- of the message in which it was asked
  bound INTEGER NOT NULL DEFAULT 0 CHECK (bound IN (0, 1)), -- the thread is bound to the session
  prompt TEXT NOT NULL DEFAULT '',              -- the turn of the session at whose end it was handed out
  offers INTEGER NOT NULL DEFAULT 0,            -- how often the session was woken with it
  offered_ms INTEGER NOT NULL DEFAULT 0,        -- the last time; 0: never
  let_ms INTEGER,                               -- since when it may be read there; NULL: not yet
  said_late INTEGER NOT NULL DEFAULT 0 CHECK (said_late IN (0, 1)), -- it was said that no answer came
  said_gone INTEGER NOT NULL DEFAULT 0 CHECK (said_gone IN (0, 1))  -- it was said that the session is gone
) STRICT;
CREATE INDEX shared_messages_open ON shared_messages (addressee, created_ms)
  WHERE kind IN ('question', 'task') AND state IN ('held', 'waiting', 'delivered');
CREATE INDEX shared_messages_to_session ON shared_messages (addressee, created_ms)
  WHERE kind IN ('question', 'task');
CREATE INDEX shared_messages_by_age ON shared_messages (created_ms);
CREATE INDEX shared_messages_sent ON shared_messages (conversation, created_ms);
CREATE INDEX shared_messages_heard ON shared_messages (heard_in, created_ms);
CREATE UNIQUE INDEX shared_messages_by_inbox ON shared_messages (inbox) WHERE inbox <> '';
CREATE INDEX shared_messages_by_person ON shared_messages (behalf) WHERE behalf <> '';
CREATE TRIGGER notes_follow_the_inbox AFTER UPDATE OF state ON inbox
  WHEN NEW.modality = 'note' AND OLD.state IN ('new', 'claimed') AND NEW.state NOT IN ('new', 'claimed')
BEGIN
  UPDATE shared_messages SET reason = NEW.reason,
    state = CASE NEW.state WHEN 'answered' THEN 'delivered' WHEN 'stale' THEN 'expired' ELSE 'dropped' END,
    how = CASE NEW.state WHEN 'answered' THEN 'inbox' ELSE '' END,
    delivered_ms = CASE NEW.state WHEN 'answered' THEN NEW.settled_ms END
  WHERE inbox = NEW.id AND inbox <> '' AND state = 'waiting';
END;
CREATE TRIGGER notes_leave_the_inbox AFTER DELETE ON shared_messages WHEN OLD.inbox <> ''
BEGIN
  UPDATE inbox SET body = '', params = '{}', author = '', cleared = 1, revision = revision + 1,
    state = CASE WHEN state IN ('new', 'claimed') THEN 'withdrawn' ELSE state END
  WHERE id = OLD.inbox;
END;

-- Sessions of Claude Code

CREATE TABLE keys (
  -- A key with which the hooks of a user's sessions come.
  id TEXT PRIMARY KEY,
  hash TEXT NOT NULL,                           -- SHA-256 of the whole key, which is kept nowhere
  person TEXT NOT NULL,                         -- '': the admin's
  visibility TEXT NOT NULL CHECK (visibility IN ('hidden', 'project', 'topic')), -- what others see of its sessions
  remember INTEGER NOT NULL DEFAULT 0 CHECK (remember IN (0, 1)), -- what its sessions say is kept
  direct INTEGER NOT NULL DEFAULT 0 CHECK (direct IN (0, 1)), -- its sessions know its user's DM
  created_ms INTEGER NOT NULL,
  revoked_ms INTEGER,
  machine TEXT NOT NULL DEFAULT '',             -- as it called itself when it was paired
  -- How much was kept with it on its newest day.
  words_day INTEGER NOT NULL DEFAULT 0,         -- days since 1970, UTC
  words_kept INTEGER NOT NULL DEFAULT 0,
  words_left_out INTEGER NOT NULL DEFAULT 0,
  words_noted INTEGER NOT NULL DEFAULT 0 CHECK (words_noted IN (0, 1)) -- a session was told that the limit is reached
) STRICT;

CREATE TABLE sessions (
  -- A session, which ends as `gone` and stays for a while.
  id TEXT PRIMARY KEY,                          -- as the client names it
  key TEXT NOT NULL,                            -- keys.id with which it came; '': the admin's token
  person TEXT NOT NULL,                         -- its owner; '': the admin
  workspace TEXT NOT NULL,
  visibility TEXT NOT NULL CHECK (visibility IN ('hidden', 'project', 'topic')),
  name TEXT NOT NULL,                           -- what people call it
  person_name TEXT NOT NULL,
  project TEXT NOT NULL,
  cwd TEXT NOT NULL,
  root TEXT NOT NULL,                           -- of its git repository
  branch TEXT NOT NULL,
  host TEXT NOT NULL,
  process TEXT NOT NULL,                        -- host/boot/namespace/pid/start
  model TEXT NOT NULL,
  source TEXT NOT NULL,                         -- of its newest start
  permission_mode TEXT NOT NULL,
  attended INTEGER CHECK (attended IN (0, 1)),  -- a user sits at it; NULL: unknown
  state TEXT NOT NULL CHECK (state IN ('working', 'idle', 'waits', 'gone')),
  reason TEXT NOT NULL,
  topic TEXT NOT NULL,
  started_ms INTEGER NOT NULL,
  seen_ms INTEGER NOT NULL,
  ended_ms INTEGER,
  sent_ms INTEGER NOT NULL,                     -- of its newest event, by its own clock
  offset_ms INTEGER NOT NULL,                   -- how far our clock was ahead of that then
  companion TEXT NOT NULL DEFAULT '',           -- presence.id of the daemon at which its companion waits
  wakes INTEGER NOT NULL DEFAULT 0 CHECK (wakes IN (0, 1)), -- the companion can wake it while it rests
  CHECK ((ended_ms IS NOT NULL) = (state = 'gone'))
) STRICT;
CREATE UNIQUE INDEX sessions_by_name ON sessions (workspace, name) WHERE state <> 'gone';
CREATE INDEX sessions_by_process ON sessions (process) WHERE process <> '';
CREATE INDEX sessions_by_age ON sessions (seen_ms);
CREATE INDEX sessions_by_companion ON sessions (companion) WHERE companion <> '';
CREATE INDEX sessions_by_person ON sessions (workspace, person, key);

CREATE TABLE session_events (
  -- An event of a session that was heard; it counts once.
  id TEXT PRIMARY KEY,
  at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX session_events_by_age ON session_events (at_ms);

CREATE TABLE session_siblings (
  -- Two sessions that met in the same repository and branch.
  session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  sibling TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  named INTEGER NOT NULL DEFAULT 0 CHECK (named IN (0, 1)), -- the session has heard of its sibling
  PRIMARY KEY (session, sibling)
) STRICT, WITHOUT ROWID;
CREATE INDEX session_siblings_by_sibling ON session_siblings (sibling);

CREATE TABLE pairings (
  -- A short-lived code by which a machine gets a key once a user has typed it to the soul.
  id TEXT PRIMARY KEY,
  workspace TEXT NOT NULL,
  front TEXT NOT NULL,                          -- SHA-256 of the first half of the code, by which it is found
  code TEXT NOT NULL,                           -- of the whole code
  secret TEXT NOT NULL,                         -- of what the machine fetches the key with
  machine TEXT NOT NULL,                        -- as it calls itself
  state TEXT NOT NULL CHECK (state IN ('open', 'asked', 'allowed', 'refused', 'fetched', 'dead')),
  tries INTEGER NOT NULL DEFAULT 0,             -- wrong ones
  person TEXT NOT NULL DEFAULT '',              -- who typed it; '': not yet
  approval TEXT NOT NULL DEFAULT '',            -- approvals.id that asks the user
  key TEXT NOT NULL DEFAULT '',                 -- keys.id that the user allowed, and what that key may:
  visibility TEXT NOT NULL DEFAULT 'project' CHECK (visibility IN ('hidden', 'project', 'topic')),
  remember INTEGER NOT NULL DEFAULT 0 CHECK (remember IN (0, 1)),
  direct INTEGER NOT NULL DEFAULT 0 CHECK (direct IN (0, 1)),
  created_ms INTEGER NOT NULL,
  until_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX pairings_by_age ON pairings (created_ms);
CREATE INDEX pairings_by_code ON pairings (workspace, front);

CREATE TABLE wrong_codes (
  -- A wrong code that a user typed.
  id INTEGER PRIMARY KEY,
  workspace TEXT NOT NULL,
  person TEXT NOT NULL,
  at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX wrong_codes_by_person ON wrong_codes (workspace, person, at_ms);
CREATE INDEX wrong_codes_by_age ON wrong_codes (at_ms);

CREATE TABLE bound_threads (
  -- A thread that belongs to a session: what people say there goes to the session in place of the soul.
  conversation TEXT PRIMARY KEY REFERENCES conversations (id) ON DELETE CASCADE,
  session TEXT NOT NULL UNIQUE,
  workspace TEXT NOT NULL,
  person TEXT NOT NULL,                         -- the owner of the session; '': the admin
  everybody INTEGER NOT NULL CHECK (everybody IN (0, 1)), -- what others say goes there, too
  bound_ms INTEGER NOT NULL,
  gone_ms INTEGER                               -- since when the session is gone, as was said there; NULL: it lives
) STRICT, WITHOUT ROWID;

-- Programs that report to a soul

CREATE TABLE event_sources (
  -- A program that an admin lets report to a soul in one room.
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  room TEXT NOT NULL,                           -- id of a channel
  signing TEXT NOT NULL CHECK (signing IN ('standard', 'github')),
  wakes INTEGER NOT NULL CHECK (wakes IN (0, 1)), -- the soul perceives its events; otherwise it only hears of them
  created_ms INTEGER NOT NULL,
  ended_ms INTEGER
) STRICT;
CREATE UNIQUE INDEX event_sources_in_force ON event_sources (name) WHERE ended_ms IS NULL;

CREATE TABLE source_events (
  -- An event that such a program reported. Its id stays: nothing is taken in twice.
  seq INTEGER PRIMARY KEY,
  source TEXT NOT NULL REFERENCES event_sources (id),
  event TEXT NOT NULL,                          -- the id that the source gave it
  digest TEXT NOT NULL,                         -- of the words
  room TEXT NOT NULL,
  words TEXT NOT NULL,
  cleared INTEGER NOT NULL DEFAULT 0 CHECK (cleared IN (0, 1)), -- it has lost its words
  at_ms INTEGER NOT NULL,
  inbox TEXT,                                   -- inbox.id by which a soul perceives it; NULL: it only hears of it
  UNIQUE (source, event)
) STRICT;
CREATE INDEX source_events_lately ON source_events (room, at_ms);
CREATE INDEX source_events_of_source ON source_events (source, at_ms);
CREATE INDEX source_events_by_age ON source_events (at_ms) WHERE cleared = 0;

-- Models and money

CREATE TABLE llm_calls (
  -- A call of a model, with who pays for it.
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  trace_id TEXT NOT NULL,
  role TEXT NOT NULL,                           -- of the model in the settings
  step TEXT NOT NULL,                           -- the cognitive step
  model TEXT NOT NULL,
  tokens_in INTEGER NOT NULL,
  tokens_cached INTEGER NOT NULL,
  tokens_out INTEGER NOT NULL,
  cost_usd REAL,                                -- NULL: the usage is unknown
  started_ms INTEGER NOT NULL,
  first_ms INTEGER,                             -- milliseconds to the first text
  latency_ms INTEGER NOT NULL,                  -- milliseconds to the end
  outcome TEXT NOT NULL,                        -- ok, or the kind of failure
  cost_bound INTEGER NOT NULL DEFAULT 0,        -- 1: the price is unknown, and cost_usd is the most it can be
  soul TEXT NOT NULL DEFAULT '',
  workspace TEXT NOT NULL DEFAULT '',
  person TEXT NOT NULL DEFAULT '',
  room TEXT NOT NULL DEFAULT '',                -- id of a channel
  day TEXT NOT NULL DEFAULT '',                 -- the day of the caps, in the zone of the settings
  tick INTEGER NOT NULL DEFAULT 0 CHECK (tick IN (0, 1)) -- for an unasked thought, which has a budget of its own
) STRICT;
CREATE INDEX llm_calls_by_trace ON llm_calls (trace_id);
CREATE INDEX llm_calls_by_age ON llm_calls (started_ms);
CREATE INDEX llm_calls_of_people ON llm_calls (person, workspace) WHERE person <> '';
CREATE INDEX llm_calls_of_ticks ON llm_calls (soul, started_ms) WHERE tick = 1;

CREATE TABLE llm_days (
  -- The sum of a day's calls that are too old to be kept one by one.
  day TEXT NOT NULL,                            -- of their start, UTC
  role TEXT NOT NULL,
  step TEXT NOT NULL,
  model TEXT NOT NULL,
  calls INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  tokens_in INTEGER NOT NULL,
  tokens_cached INTEGER NOT NULL,
  tokens_out INTEGER NOT NULL,
  cost_usd REAL NOT NULL,
  unpriced INTEGER NOT NULL,                    -- calls whose price is not known
  PRIMARY KEY (day, role, step, model)
) STRICT;

CREATE TABLE spending (
  -- What a payer spent on a day, kept by the trigger below.
  day TEXT NOT NULL,                            -- in the zone of the settings
  paid_by TEXT NOT NULL CHECK (paid_by IN ('soul', 'person', 'room')),
  workspace TEXT NOT NULL,                      -- '': of a soul
  id TEXT NOT NULL,                             -- of the soul, user or channel
  nano INTEGER NOT NULL CHECK (nano >= 0),      -- billionths of a US dollar, each call rounded up
  PRIMARY KEY (day, paid_by, workspace, id)
) STRICT;
CREATE TRIGGER llm_calls_spent AFTER INSERT ON llm_calls WHEN NEW.day <> '' AND NEW.cost_usd > 0
BEGIN
  INSERT INTO spending (day, paid_by, workspace, id, nano)
  SELECT NEW.day, p.paid_by, p.workspace, p.id,
         CAST(NEW.cost_usd * 1e9 AS INTEGER) + (NEW.cost_usd * 1e9 - CAST(NEW.cost_usd * 1e9 AS INTEGER) > 0.001)
  FROM (SELECT 'soul' AS paid_by, '' AS workspace, NEW.soul AS id
        UNION ALL SELECT 'person', NEW.workspace, NEW.person UNION ALL SELECT 'room', NEW.workspace, NEW.room) p
  WHERE p.id <> ''
  ON CONFLICT (day, paid_by, workspace, id) DO UPDATE SET nano = spending.nano + excluded.nano;
END;

CREATE TABLE reservations (
  -- The most that a call which is under way can cost.
  id TEXT PRIMARY KEY,
  holder TEXT NOT NULL,                         -- presence.id of the daemon that makes the call
  day TEXT NOT NULL,
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  person TEXT NOT NULL,
  room TEXT NOT NULL,
  trace_id TEXT NOT NULL,
  role TEXT NOT NULL,
  step TEXT NOT NULL,
  model TEXT NOT NULL,
  nano INTEGER NOT NULL CHECK (nano >= 0),      -- billionths of a US dollar
  made_ms INTEGER NOT NULL,
  tick INTEGER NOT NULL DEFAULT 0 CHECK (tick IN (0, 1)), -- for an unasked thought
  tokens INTEGER NOT NULL DEFAULT 0             -- the most that it takes
) STRICT;
CREATE INDEX reservations_of_ticks ON reservations (soul) WHERE tick = 1;

CREATE TABLE model_habits (
  -- How well a model keeps the form of its answers.
  model TEXT PRIMARY KEY,                       -- its id with the prefix of its provider
  recent TEXT NOT NULL,                         -- its last answers in elements: k kept the form, m is malformed
  split_until_ms INTEGER NOT NULL,              -- until then it speaks in the split pipeline
  split_for_ms INTEGER NOT NULL,                -- for how long; the next time is longer
  hold_back INTEGER NOT NULL                    -- answers that must end without reasoning before its words stream
) STRICT;

-- Daemons and tools

CREATE TABLE tools (
  -- A tool of an MCP server.
  soul TEXT NOT NULL,                           -- of the daemon whose server offers it
  server TEXT NOT NULL,
  name TEXT NOT NULL,                           -- server/tool
  accepted TEXT NOT NULL,                       -- fingerprint at its first sight, or when the admin accepted it
  offered TEXT NOT NULL,                        -- fingerprint of what the server says now
  writes INTEGER NOT NULL CHECK (writes IN (0, 1)), -- it may change something
  changed_ms INTEGER,                           -- since when both fingerprints differ; NULL: they are the same
  PRIMARY KEY (soul, name)
) STRICT;

CREATE TABLE presence (
  -- A daemon that lives, or whose end was not noticed yet.
  id TEXT PRIMARY KEY,                          -- the name of the lock of its process in SOUL_HOME/run: pid-random
  soul TEXT NOT NULL,
  workspace TEXT NOT NULL,
  kind TEXT NOT NULL,                           -- of its channel
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  version TEXT NOT NULL,                        -- of the program
  sqlite TEXT NOT NULL,                         -- the version of SQLite
  started_ms INTEGER NOT NULL,
  seen_ms INTEGER NOT NULL,                     -- its last heartbeat
  state TEXT NOT NULL,
  detail TEXT NOT NULL DEFAULT '{}'             -- JSON
) STRICT;
CREATE TRIGGER companions_go_with_their_daemon AFTER DELETE ON presence
BEGIN
  -- The sessions whose companions waited at a daemon lived up to its last heartbeat.
  UPDATE sessions SET companion = '', wakes = 0, seen_ms = max(seen_ms, OLD.seen_ms)
  WHERE companion = OLD.id AND companion <> '';
END;

CREATE TABLE duties (
  -- A piece of work that one daemon does for all, such as backups.
  name TEXT PRIMARY KEY,
  due_ms INTEGER NOT NULL,
  asked INTEGER NOT NULL DEFAULT 0,             -- how often it was asked for
  lease_owner TEXT NOT NULL DEFAULT '',         -- presence.id of the daemon that does it
  lease_until INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE alarms (
  -- A fault that lasts and of which the admin was told. A healed one has no row.
  name TEXT PRIMARY KEY,
  since_ms INTEGER NOT NULL,
  seen_ms INTEGER NOT NULL,                     -- the last time
  posts TEXT NOT NULL DEFAULT '[]'              -- JSON: outbox.id of the posts that tell of it
) STRICT;

CREATE TABLE audit (
  -- An act of an admin, or a decision of a user on an approval.
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  actor TEXT NOT NULL,                          -- an account of the machine, or a Slack id
  act TEXT NOT NULL,
  object TEXT NOT NULL,
  detail TEXT NOT NULL DEFAULT '',
  done_ms INTEGER NOT NULL
) STRICT;
