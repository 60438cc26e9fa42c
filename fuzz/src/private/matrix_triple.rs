//! Matrix triples, and keys, masks, triples and opened words of weights.
//!
//! Each has one encoding, and accepted triples and keys work in a session.

use pfss::{
    BundleError, Channel, ChannelError, MatrixTriple, OpenedWeights, Party, PfssError, Session, WeightKey, WeightMask,
    WeightTriple,
};

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
        hasher.update(name(data));
        hasher.update(&sealed[..DIGEST_AT]);
        hasher.update(&sealed[HEADER_BYTES..]);
        sealed[DIGEST_AT..HEADER_BYTES].copy_from_slice(hasher.finalize().as_bytes());
        check(&sealed);
    }
}

/// The first bytes of the digest's input, by magic and version.
fn name(data: &[u8]) -> &'static [u8] {
    match (&data[..4], data[4]) {
        (b"PFW1", _) => b"pfss weight key v1",
        (b"PFD1", _) => b"pfss weight mask v1",
        (b"PFT1", _) => b"pfss weight triple v1",
        (b"PFO1", _) => b"pfss opened weights v1",
        (_, 1) => b"pfss matrix triple v1",
        _ => b"pfss matrix triple v2",
    }
}

fn check(data: &[u8]) {
    if let Ok(triple) = MatrixTriple::from_bytes(data) {
        assert_eq!(triple.to_bytes()[..], *data, "two encodings of one triple");
        multiply(triple, data);
    }
    if let Ok(key) = WeightKey::from_bytes(data) {
        assert_eq!(key.to_bytes()[..], *data, "two encodings of one key");
        open(key);
    }
    encoded(data, WeightMask::from_bytes(data), |mask| mask.to_bytes().to_vec());
    encoded(data, WeightTriple::from_bytes(data), |triple| triple.to_bytes().to_vec());
    encoded(data, OpenedWeights::from_bytes(data), |weights| weights.to_bytes().to_vec());
}

fn encoded<T>(data: &[u8], read: Result<T, BundleError>, write: impl FnOnce(T) -> Vec<u8>) {
    if let Ok(read) = read {
        assert_eq!(write(read), data, "two encodings");
    }
}

fn multiply(triple: MatrixTriple, data: &[u8]) {
    let (shape, party) = (triple.shape(), triple.party());
    let [left, right, out] = shape.lens();
    if [left, right, out, out.saturating_mul(shape.inner)].iter().any(|&len| len > MAX_PRODUCTS) {
        return;
    }
    let x: Vec<u64> = (1..=left as u64).collect();
    let y: Vec<u64> = (1..=right as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let words: Vec<u64> =
        data[HEADER_BYTES..].as_chunks::<8>().0.iter().map(|&bytes| u64::from_le_bytes(bytes)).collect();
    let mask = triple.ring().mask();
    match Session::new(Echo(party)).matmul(&*QUEUE, triple, [&x, &y]) {
        // Of the shares that a seed gives, the bytes show nothing.
        Ok(product) if data[4] != 1 => assert_eq!(product.len(), out, "{shape:?}"),
        Ok(product) => {
            assert_eq!(left + right + out, words.len(), "{shape:?}");
            let (a, rest) = words.split_at(left);
            let (b, c) = rest.split_at(right);
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
                assert_eq!(word, factors.fold(c[at], u64::wrapping_add) & mask, "element {at} of {shape:?}");
            }
        }
        // The process has met this nonce in an earlier input.
        Err(PfssError::ReusedBundle { .. }) => {}
        Err(error) => panic!("an accepted triple is rejected by the session: {error}"),
    }
}

fn open(key: WeightKey) {
    let (shape, party) = (key.shape(), key.party());
    if shape.elements() > MAX_PRODUCTS {
        return;
    }
    match Session::new(Echo(party)).open_weights(&*QUEUE, key, &vec![1; shape.elements()]) {
        Ok(weights) => assert_eq!((weights.shape(), weights.party()), (shape, party)),
        Err(PfssError::ReusedBundle { .. }) => {}
        Err(error) => panic!("an accepted key is rejected by the session: {error}"),
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
