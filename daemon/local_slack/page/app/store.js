/** The state of the page: one user's view of the workspace, and which part of it is shown. */

import { setNow } from "./time.js";

/**
 * @typedef {object} Message Slack's message object with its `channel`
 * @typedef {{channel: string, thread: string, home: boolean}} View
 */

export class Store {
  constructor() {
    this.team = { name: "" };
    this.me = null;
    this.bot = null;
    this.people = new Map();
    this.channels = new Map();
    /** @type {Map<string, Map<string, Message>>} only loaded channels; each message by ts */
    this.messages = new Map();
    this.ephemerals = new Map();
    this.statuses = new Map();
    /** @type {Map<string, {channel: string, thread_ts: string, status: string, title: string}>} agent sessions by thread */
    this.sessions = new Map();
    this.more = new Map();
    this.choices = new Map();
    /** @type {{callback_id: string, name: string}[]} shortcuts of the app at each message */
    this.shortcuts = [];
    /** @type {{command: string, description: string, usage_hint: string}[]} slash commands of the app */
    this.commands = [];
    /** @type {Map<string, {view: any, errors: Record<string, string>, trouble: string}>} open dialogs, the newest last */
    this.dialogs = new Map();
    this.note = "";
    this.homeView = null;
    this.live = false;
    this.everLive = false;
    this.editing = "";
    /** @type {View} */
    this.view = { channel: "", thread: "", home: false };
    this.listeners = [];
    this.due = false;
  }

  /** Call a listener after every change; changes of one turn are one call. @param {() => void} listener */
  subscribe(listener) {
    this.listeners.push(listener);
  }

  /** Schedule a call of the listeners. */
  changed() {
    if (this.due) return;
    this.due = true;
    queueMicrotask(() => {
      this.due = false;
      for (const listener of this.listeners) listener();
    });
  }

  /** Store a `state` answer; messages are loaded per channel. @param {any} state */
  takeState({ team, me, bot, people, channels, statuses, sessions, shortcuts, commands, note, now }) {
    setNow(now);
    Object.assign(this, { team, me, bot, shortcuts, commands, note });
    this.people = new Map(people.map((person) => [person.id, person]));
    this.channels = new Map(channels.map((channel) => [channel.id, channel]));
    this.statuses = new Map(statuses.map((line) => [`${line.channel}/${line.thread_ts}`, line]));
    this.sessions = new Map(sessions.map((one) => [`${one.channel}/${one.thread_ts}`, one]));
    this.changed();
  }

  /** Store the dialogs that are open; one that is known in this version keeps what was said of it. @param {any[]} views */
  takeDialogs(views) {
    const known = (view) => {
      const before = this.dialogs.get(view.id);
      return before?.view.hash === view.hash ? before : { view, errors: {}, trouble: "" };
    };
    this.dialogs = new Map(views.map((view) => [view.id, known(view)]));
    this.changed();
  }

  /** Store a `messages` answer of a channel. @param {string} channel @param {any} answer */
  takeMessages(channel, { messages, ephemerals, has_more: hasMore }) {
    this.messages.set(channel, new Map(messages.map((message) => [message.ts, message])));
    this.ephemerals.set(channel, ephemerals);
    this.more.set(channel, hasMore);
    this.changed();
  }

  /** @returns {any} the open channel, or undefined */
  get channel() {
    return this.channels.get(this.view.channel);
  }

  /** @returns {any} this user's DM with the soul, or undefined */
  get dm() {
    return [...this.channels.values()].find((each) => each.kind === "im" && each.user === this.bot?.id);
  }

  /** Whether a channel is this user's DM with the soul. @param {any} channel */
  isSoulDm(channel) {
    return channel?.kind === "im" && channel.user === this.bot?.id;
  }

  /** The displayed name of a user. @param {string} id */
  nameOf(id) {
    const person = this.people.get(id);
    return person ? person.display_name || person.real_name || person.name : id;
  }

  /** The name of a conversation, without `#`. @param {any} channel */
  titleOf(channel) {
    if (channel.kind === "im") return this.nameOf(channel.user);
    if (channel.kind !== "mpim") return channel.name;
    const others = channel.members.filter((id) => id !== this.me.id);
    return others.map((id) => this.nameOf(id)).join(", ");
  }
}
