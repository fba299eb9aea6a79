/** Whether a text takes more than so many bytes in UTF-8. Most texts are far from the limit and are not counted. */
export const isLongerThan = (text: string, bytes: number): boolean =>
  text.length > bytes || (text.length * 3 > bytes && Buffer.byteLength(text) > bytes);
