/** The emoji that people use most, by Slack's names. Other names stay as they are typed. */

const NAMED = {
  "+1": "👍", "-1": "👎", thumbsup: "👍", thumbsdown: "👎", heart: "❤️", tada: "🎉", eyes: "👀", fire: "🔥",
  white_check_mark: "✅", heavy_check_mark: "✔️", x: "❌", raised_hands: "🙌", pray: "🙏", clap: "👏", wave: "👋",
  muscle: "💪", ok_hand: "👌", point_up: "☝️", point_right: "👉", bulb: "💡", rocket: "🚀", sparkles: "✨", star: "⭐",
  100: "💯", warning: "⚠️", question: "❓", exclamation: "❗", hourglass: "⌛", zap: "⚡", bug: "🐛", wrench: "🔧",
  smile: "😄", smiley: "😃", grin: "😁", grinning: "😀", joy: "😂", laughing: "😆", sweat_smile: "😅", wink: "😉",
  slightly_smiling_face: "🙂", blush: "😊", heart_eyes: "😍", sunglasses: "😎", thinking_face: "🤔", thinking: "🤔",
  neutral_face: "😐", confused: "😕", cry: "😢", sob: "😭", scream: "😱", angry: "😠", sleeping: "😴", hugging_face: "🤗",
  exploding_head: "🤯", face_with_rolling_eyes: "🙄", upside_down_face: "🙃", shrug: "🤷", facepalm: "🤦", robot_face: "🤖",
  coffee: "☕", beers: "🍻", cake: "🍰", seedling: "🌱", sunny: "☀️", rainbow: "🌈", moon: "🌙", calendar: "📅",
  memo: "📝", pushpin: "📌", link: "🔗", lock: "🔒", key: "🔑", mag: "🔍", bell: "🔔", gift: "🎁", house: "🏠",
};

const CHARACTERS = new Map(Object.entries(NAMED));

/** Offered when somebody reacts. */
export const QUICK = Object.freeze([
  "+1", "heart", "smile", "joy", "tada", "eyes", "white_check_mark", "raised_hands",
  "pray", "bulb", "rocket", "fire", "thinking_face", "clap", "wave", "-1",
]);

/** The character of a name such as `tada`, or undefined. @param {string} name */
export function emoji(name) {
  return CHARACTERS.get(name);
}
