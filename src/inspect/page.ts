import { createHash } from 'node:crypto';

/**
 * A page that embeds the inspector and passes on to it what comes through the socket. The inspector tells when it is ready; until
 * then messages wait. Only that one frame is told, and only it is listened to.
 */
export const bridgePage = (inspectorUrl: string): { readonly text: string; readonly policy: string } => {
  const { origin, href } = new URL(inspectorUrl);
  const script = `
const frame = document.querySelector('iframe');
const origin = ${scriptText(origin)};
const waiting = [];
let isReady = false;
addEventListener('message', (event) => {
  if (event.origin !== origin || event.source !== frame.contentWindow) return;
  if (event.data?.type !== '@statelyai.connected') return;
  isReady = true;
  for (const message of waiting.splice(0)) frame.contentWindow.postMessage(message, origin);
});
const socket = new WebSocket('ws://' + location.host);
socket.onmessage = ({ data }) => {
  const message = JSON.parse(data);
  if (isReady) frame.contentWindow.postMessage(message, origin);
  else waiting.push(message);
};
`;
  const hash = createHash('sha256').update(script).digest('base64');
  return {
    text: `<!doctype html>
<meta charset="utf-8">
<title>Loopwright in Stately Inspector</title>
<style>html, body, iframe { margin: 0; border: 0; width: 100%; height: 100%; display: block }</style>
<iframe src="${attributeText(href)}"></iframe>
<script>${script}</script>
`,
    policy: `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${hash}'; connect-src 'self' ws:; frame-src ${origin}`,
  };
};

/** Text inside of a script: no character of it can end the script. */
const scriptText = (text: string): string => JSON.stringify(text).replaceAll('<', '\\u003c');

const attributeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
