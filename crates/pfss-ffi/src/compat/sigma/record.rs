//! Keys in the caller's buffer: one record for each call that makes keys.
//!
//! A record is 8 bytes of magic and eight numbers of 8 bytes, little-endian: the length of the
//! whole record in bytes, function, bits, scale, parameter, party, elements, and number of bundles.
//! Then each bundle follows, after its length in 8 bytes.

use pfss::{KeyBundle, Party, PfssError, functions::WiredBundles};
use zeroize::Zeroizing;

use super::request::Request;
use crate::status::{CallFailure, Status};

/// The first bytes of a record, with the version of its form.
const MAGIC: [u8; 8] = *b"TFSIGMA1";
/// Bytes before the bundles.
pub(super) const HEADER_BYTES: usize = 72;
/// Bundles of a record: for a lift, a descriptor and a shift.
const MAX_BUNDLES: u64 = 3;

/// The keys of one call for one party.
pub(super) struct Record {
    pub(super) request: Request,
    pub(super) party: Party,
    pub(super) count: usize,
    pub(super) bundles: WiredBundles,
}

impl Record {
    /// The bytes of a record.
    pub(super) fn into_bytes(self) -> Zeroizing<Vec<u8>> {
        let Self { request, party, count, bundles } = self;
        let bundles = Vec::<KeyBundle>::from(bundles);
        let len = HEADER_BYTES + bundles.iter().map(|bundle| 8 + bundle.byte_len()).sum::<usize>();
        let [function, bits, scale, parameter] = request.to_words();
        let party = u64::from(party.number());
        let header = [len as u64, function, bits, scale, parameter, party, count as u64, bundles.len() as u64];
        // the full capacity at once, since growing would leave copies behind
        let mut bytes = Zeroizing::new(Vec::with_capacity(len));
        bytes.extend_from_slice(&MAGIC);
        bytes.extend(header.iter().flat_map(|number| number.to_le_bytes()));
        for bundle in &bundles {
            bytes.extend_from_slice(&(bundle.byte_len() as u64).to_le_bytes());
            bytes.extend_from_slice(&bundle.to_bytes());
        }
        bytes
    }

    /// Refuses a call that the keys were not made for.
    pub(super) fn check(&self, party: Party, request: Request, count: usize) -> Result<(), CallFailure> {
        if (self.party, self.request, self.count) == (party, request, count) {
            return Ok(());
        }
        let described =
            |party: Party, request: Request, count: usize| format!("{request} of {count} elements for {party}");
        let (expected, got) = (described(self.party, self.request, self.count), described(party, request, count));
        Err(CallFailure::state(format!("expected a call of the next keys, {expected}, got {got}")))
    }

    /// The length of the record that begins with `header`.
    pub(super) fn len_from(header: &[u8; HEADER_BYTES]) -> Result<usize, CallFailure> {
        if header[..MAGIC.len()] != MAGIC {
            return Err(refused("expected keys at the cursor, got other bytes"));
        }
        let [len, ..] = numbers(header);
        match usize::try_from(len) {
            Ok(len) if len >= HEADER_BYTES => Ok(len),
            _ => Err(refused(format!("expected a record of at least {HEADER_BYTES} bytes, got {len}"))),
        }
    }

    /// Reads a record whose header has its length.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, CallFailure> {
        let cut = || refused("the record ends within its keys");
        let (header, mut rest) = bytes.split_first_chunk::<HEADER_BYTES>().ok_or_else(cut)?;
        let [_, function, bits, scale, parameter, party, count, bundles] = numbers(header);
        let request = Request::from_words([function, bits, scale, parameter]);
        let request = request.ok_or_else(|| refused("the keys are for a function that this version does not have"))?;
        let party = match party {
            0 => Party::Zero,
            1 => Party::One,
            _ => return Err(refused(format!("expected keys of party 0 or 1, got {party}"))),
        };
        let count = usize::try_from(count).map_err(|_| refused(format!("{count} elements are too many")))?;
        if bundles > MAX_BUNDLES {
            return Err(refused(format!("expected at most {MAX_BUNDLES} bundles of keys, got {bundles}")));
        }
        let mut read = Vec::new();
        for _ in 0..bundles {
            let (len, body) = rest.split_first_chunk::<8>().ok_or_else(cut)?;
            let len = usize::try_from(u64::from_le_bytes(*len)).map_err(|_| cut())?;
            let (bundle, after) = body.split_at_checked(len).ok_or_else(cut)?;
            read.push(KeyBundle::from_bytes(bundle).map_err(PfssError::from)?);
            rest = after;
        }
        if !rest.is_empty() {
            return Err(refused(format!("{} bytes follow the last keys of the record", rest.len())));
        }
        Ok(Self { request, party, count, bundles: WiredBundles::from(read) })
    }
}

/// The numbers of a header, after the magic.
fn numbers(header: &[u8; HEADER_BYTES]) -> [u64; 8] {
    let (words, _) = header.as_chunks::<8>();
    core::array::from_fn(|at| u64::from_le_bytes(words[at + 1]))
}

fn refused(message: impl core::fmt::Display) -> CallFailure {
    CallFailure::new(Status::TREFOIL_PFSS_BUNDLE, message)
}
