import { openInbox } from '../../src/store/inbox.ts';

// Posts commands to the inbox of the log given first, as many as given third, under the name given second.
const [, , file = '', name = '', count = '0'] = process.argv;
const inbox = openInbox(file);
for (let n = 0; n < Number(count); n += 1) {
  inbox.post({ id: `${name}-${n}`, kind: 'pause', body: JSON.stringify({ n }), by: name, atMs: n });
}
inbox.close();
