/** However somebody writes it: "Design Review" is design-review. */
export const wordOf = (text: string): string =>
  text
    .trim()
    .toLowerCase()
    .replaceAll(/[\s_-]+/g, '-');
