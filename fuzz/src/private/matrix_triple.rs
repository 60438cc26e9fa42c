//! Matrix triples: one encoding each, and an accepted triple multiplies in a session.

use pfss::{Channel, ChannelError, MatrixTriple, Party, PfssError, Session};

use crate::queue::QUEUE;

const DIGEST_AT: usize = 56;
const HEADER_BYTES: usize = 88;
/// Triples of larger products are read but not used.
const MAX_PRODUCTS: usize = 1 << 16;

/// Checks one input.
pub fn check_input(data: &[u8]) {
    check(data);
    // A hostile writer can compute the digest, which has no key; with it the fuzzer gets to the checks after it.
    if data.len() >= HEADER_BYTES {
        let mut sealed = data.to_vec();
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"pfss matrix triple v1");
        hasher.update(&sealed[..DIGEST_AT]);
        hasher.update(&sealed[HEADER_BYTES..]);
        sealed[DIGEST_AT..HEADER_BYTES].copy_from_slice(hasher.finalize().as_bytes());
        check(&sealed);
    }
}

fn check(data: &[u8]) {
    let Ok(triple) = MatrixTriple::from_bytes(data) else { return };
    assert_eq!(triple.to_bytes()[..], *data, "two encodings of one triple");
    let (shape, party) = (triple.shape(), triple.party());
    let [left, right, out] = shape.lens();
    assert_eq!(8 * (left + right + out), data.len() - HEADER_BYTES, "{shape:?}");
    if out.saturating_mul(shape.inner) > MAX_PRODUCTS {
        return;
    }
    let x: Vec<u64> = (1..=left as u64).collect();
    let y: Vec<u64> = (1..=right as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let words: Vec<u64> =
        data[HEADER_BYTES..].as_chunks::<8>().0.iter().map(|&bytes| u64::from_le_bytes(bytes)).collect();
    let (a, rest) = words.split_at(left);
    let (b, c) = rest.split_at(right);
    match Session::new(Echo(party)).matmul(&*QUEUE, triple, [&x, &y]) {
        Ok(product) => {
            // The echo of a masked factor doubles it. The share is 1[party 0] x̂ ŷ - x̂ b - a ŷ + c.
            let doubled = |x: &[u64], mask: &[u64]| -> Vec<u64> {
                x.iter().zip(mask).map(|(x, mask)| x.wrapping_add(*mask).wrapping_mul(2)).collect()
            };
            let (x_hat, y_hat) = (doubled(&x, a), doubled(&y, b));
            for (at, &word) in product.iter().enumerate() {
                let (row, col) = (at / shape.cols, at % shape.cols);
                let factors = (0..shape.inner).map(|i| {
                    let (left, right) =
                        (row * shape.inner + i, (row / shape.rows * shape.inner + i) * shape.cols + col);
                    let both = if party == Party::Zero { x_hat[left].wrapping_mul(y_hat[right]) } else { 0 };
                    both.wrapping_sub(x_hat[left].wrapping_mul(b[right]))
                        .wrapping_sub(a[left].wrapping_mul(y_hat[right]))
                });
                assert_eq!(word, factors.fold(c[at], u64::wrapping_add), "element {at} of {shape:?}");
            }
        }
        // The process has met this nonce in an earlier input.
        Err(PfssError::ReusedBundle { .. }) => {}
        Err(error) => panic!("an accepted triple is rejected by the session: {error}"),
    }
}

/// A peer that sends every message back, and so is at the same step.
struct Echo(Party);

impl Channel for Echo {
    fn party(&self) -> Party {
        self.0
    }

    fn send(&mut self, _: &[u8]) -> Result<(), ChannelError> {
        Ok(())
    }

    fn recv(&mut self, _: usize) -> Result<Vec<u8>, ChannelError> {
        Err(ChannelError::Lost { doing: "receiving" })
    }

    fn exchange(&mut self, message: &[u8]) -> Result<Vec<u8>, ChannelError> {
        Ok(message.to_vec())
    }
}
