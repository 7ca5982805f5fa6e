//! Division of a number of bytes among ranges and weights, so that the shares add up.

use std::ops::Range;

use super::size_of_range;

/// Returns the bytes of `within` that belong to each range, in their order, with the index of the range. A byte in
/// several ranges belongs to the range that begins first. If several begin together, it belongs to the first of them in
/// the list.
pub fn claimed(ranges: &[Range<u64>], within: &Range<u64>) -> Vec<(usize, Range<u64>)> {
    let mut order: Vec<(usize, &Range<u64>)> = ranges.iter().enumerate().collect();
    order.sort_by_cached_key(|(_, range)| range.start);
    let mut covered = within.start;
    let mut claimed = Vec::with_capacity(order.len());
    for (index, range) in order {
        let own = range.start.max(covered)..range.end.min(within.end);
        if own.start < own.end {
            covered = own.end;
            claimed.push((index, own));
        }
    }
    claimed
}

/// Returns the number of bytes that [`claimed`] gives to each range.
pub fn claim(ranges: &[Range<u64>], within: &Range<u64>) -> Vec<u64> {
    let mut shares = vec![0; ranges.len()];
    for (index, own) in claimed(ranges, within) {
        if let Some(share) = shares.get_mut(index) {
            *share = size_of_range(&own);
        }
    }
    shares
}

/// Divides `total` in proportion to weights. The shares are rounded down, and each remaining byte goes to the share
/// with the largest remainder, or to the first of several equal ones (Hamilton's method). Without any weight, the first
/// share gets everything.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "the sum is not 0, a product of two u64 fits into a u128, and the shares add up to at most the total"
)]
pub fn apportion(total: u64, weights: &[u64]) -> Vec<u64> {
    let sum: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
    if sum == 0 {
        let mut shares = vec![0; weights.len()];
        if let Some(first) = shares.first_mut() {
            *first = total;
        }
        return shares;
    }
    let product = |weight: u64| u128::from(total) * u128::from(weight);
    let mut shares: Vec<u64> = weights.iter().map(|&weight| (product(weight) / sum) as u64).collect();
    let left = total - shares.iter().sum::<u64>();
    let mut order: Vec<(usize, u128)> = weights.iter().map(|&weight| product(weight) % sum).enumerate().collect();
    order.sort_by_cached_key(|&(_, remainder)| std::cmp::Reverse(remainder));
    for (index, _) in order.into_iter().take(left as usize) {
        if let Some(share) = shares.get_mut(index) {
            *share += 1;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_belongs_to_one_range() {
        assert_eq!(claim(&[4..8, 0..6, 0..2, 7..7, 20..30, 9..12], &(1..11)), [2, 5, 0, 0, 0, 2]);
        assert!(claim(&[], &(0..8)).is_empty());
        assert_eq!(claim(&[0..u64::MAX, 3..4], &(0..8)), [8, 0]);
    }

    /// The owner of every byte, one by one.
    #[test]
    fn claims_are_those_of_a_search_for_each_byte() {
        let mut state = 7_u64;
        let mut next = |limit: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % limit
        };
        for _ in 0..500 {
            let ranges: Vec<Range<u64>> = (0..next(6)).map(|_| next(40)..next(40)).collect();
            let within = next(10)..10 + next(30);
            let mut expected = vec![0; ranges.len()];
            for byte in within.clone() {
                let owners = ranges.iter().enumerate().filter(|(_, range)| range.contains(&byte));
                if let Some((owner, _)) = owners.min_by_key(|(index, range)| (range.start, *index)) {
                    expected[owner] += 1;
                }
            }
            assert_eq!(claim(&ranges, &within), expected, "{ranges:?} in {within:?}");
        }
    }

    #[test]
    fn shares_add_up() {
        assert_eq!(apportion(10, &[1, 1, 1]), [4, 3, 3]);
        assert_eq!(apportion(100, &[33, 33, 34, 0]), [33, 33, 34, 0]);
        assert_eq!(apportion(7, &[0, 0]), [7, 0]);
        assert!(apportion(7, &[]).is_empty());
        assert_eq!(apportion(3, &[u64::MAX, u64::MAX]), [2, 1]);
        for total in [0, 1, 999, u64::MAX] {
            assert_eq!(apportion(total, &[3, 5, 7, u64::MAX]).iter().sum::<u64>(), total);
        }
    }
}
