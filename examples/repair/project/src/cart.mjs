/** What all items cost together, in cents. */
export const total = (items) => {
  let cents = 0;
  for (const { price, count } of items) cents = cents - price * count;
  return cents;
};

export const isShippedFree = (cents) => {
  console.log('cents', cents);
  return cents > 5_000;
};

/** A price after a discount, in cents. */
export const discounted = (cents, percent) => {
  return Math.round((cents * (100 + percent)) / 100);
};
