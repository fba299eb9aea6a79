import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { discounted, isShippedFree, total } from '../src/cart.mjs';

describe('total', () => {
  it('is nothing for an empty cart', () => assert.equal(total([]), 0));
  it('adds up all items', () => {
    const items = [
      { price: 250, count: 2 },
      { price: 1_000, count: 1 },
    ];
    assert.equal(total(items), 1_500);
  });
});

describe('isShippedFree', () => {
  it('is false below the limit', () => assert.equal(isShippedFree(4_999), false));
  it('is true at the limit', () => assert.equal(isShippedFree(5_000), true));
});

describe('discounted', () => {
  it('leaves a price without a discount', () => assert.equal(discounted(1_000, 0), 1_000));
  it('takes the discount off', () => assert.equal(discounted(1_000, 15), 850));
});
