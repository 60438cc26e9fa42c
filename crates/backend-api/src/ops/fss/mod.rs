//! Batches of function-secret-sharing keys: comparison keys (CMP), comparison keys with payload (DCF), the expansion of
//! dealer randomness, and transport packing.
//!
//! A batch of `count` keys is a structure of arrays with `P = padded(count)` keys to a row (`count` rounded up to a
//! multiple of 32), level-major, all words little-endian:
//!
//! | section | elements | meaning |
//! |---|---|---|
//! | roots | `Label[P]` | one party's root labels |
//! | corrections | `u128[levels][P]` | CMP: `cmp_levels(bits)` levels, DCF: `bits` levels |
//! | leaves | `u128[2][P]` | CMP only: corrections of the left and the right leaf block |
//! | values | `u64[bits][L][P]` | DCF only: value corrections of each level |
//! | last | `u64[L][P]` | DCF only: value corrections of the last node |
//!
//! The parties' keys differ in the roots alone. A CMP key of at most 7 bits has no tree: it is one word per party, its
//! share of the truth table, in a leaf section of shape `u128[1][P]`; it has no corrections and its roots are not read.
//!
//! Keys `count .. P` exist only to fill rows; evaluation does not look at them. Points are `u64[m][count]`, point `j` of
//! key `e` at `j * count + e`, and are read modulo 2^bits. Bits leave as `u32[m][P / 32]`, key `e` at bit `e % 32` of
//! word `e / 32` of its row, zero for `e >= count`.
//!
//! Backends agree on each party's share bit for bit, not only on the reconstructed value. The scalar formulas are those
//! of [`core_types::cmp`] and [`core_types::dcf`]. No address and no branch depends on a secret, but for look-ups in a
//! table of AES: a processor takes them only if told to, a GPU makes them in shared memory, free of bank conflicts.

mod shape;

use core_types::{
    Label,
    params::fss::{AesCtrParams, CmpAllParams, CmpParams, CmpWindowParams, DcfParams, DcfWindowParams, PackParams},
};

pub use self::shape::{CmpAllShape, CmpShape, DcfShape, GROUP, PackShape, check_lengths};
use crate::{BackendError, Mut, Ref, ops::share::ShareOps};

/// Device steps of function secret sharing; what follows them is arithmetic on shares, [`ShareOps`].
///
/// Every op returns [`BackendError::Length`] if a view does not have the length its parameters state, and
/// [`BackendError::Unsupported`] for a width, window, party, number of payload words or range of keys that is none, or
/// if the device may not run AES; a plan has checked the former. Nothing is written then.
pub trait FssOps: ShareOps {
    /// One party's XOR shares of 1\[α <= y\] for the secret α of each key and every point y.
    ///
    /// `corrections` is `u128[cmp_levels(bits)][P]`, `leaves` is `u128[cmp_leaves(bits)][P]`.
    ///
    /// # Errors
    /// See [`FssOps`].
    fn cmp_eval(
        &self,
        params: &CmpParams,
        roots: Ref<'_, Self, Label>,
        corrections: Ref<'_, Self, u128>,
        leaves: Ref<'_, Self, u128>,
        points: Ref<'_, Self, u64>,
        shares: Mut<'_, Self, u32>,
    ) -> Result<(), BackendError>;

    /// As [`cmp_eval`](Self::cmp_eval) with the same shares, at the points y_j = `x_hat` - `offsets[j]` modulo 2^bits of
    /// each key, where `x_hat` is `u64[count]` and `offsets` is `u64[m]`, both public.
    ///
    /// The caller promises that all offsets lie in one window: `offsets[j] - offsets[0]`, modulo 2^bits, is at most
    /// 2^window. Then the points of a key lie in two neighbouring blocks ([`Window`](core_types::Window)), to which its
    /// tree is walked once: 2 (bits - window) + m (window - 7) AES blocks in all. A window of all bits promises nothing,
    /// and points are walked from the root. A device that the keys do not fill may do so as well, or cut the points among
    /// its threads. Shares at offsets that break the promise may be any words.
    ///
    /// # Errors
    /// See [`FssOps`].
    #[expect(clippy::too_many_arguments, reason = "one view for each section of a key")]
    fn cmp_eval_window(
        &self,
        params: &CmpWindowParams,
        roots: Ref<'_, Self, Label>,
        corrections: Ref<'_, Self, u128>,
        leaves: Ref<'_, Self, u128>,
        x_hat: Ref<'_, Self, u64>,
        offsets: Ref<'_, Self, u64>,
        shares: Mut<'_, Self, u32>,
    ) -> Result<(), BackendError>;

    /// One party's XOR shares of the unit vector of the secret α of each key, 1 at α and 0 at the other 2^bits points.
    ///
    /// Of a batch whose sections are those of [`cmp_eval`](Self::cmp_eval), with at most
    /// [`CMP_ALL_BITS`](core_types::cmp::CMP_ALL_BITS) bits, it evaluates the keys `first .. first + keys`. `units` is
    /// `u128[cmp_blocks(bits)][keys]`: bit `j` of word `b * keys + e` belongs to the point `128 b + j` of key
    /// `first + e`, and is zero behind the last point. A sum over the points of one key reads a column, 128 points at a
    /// time; neighbouring keys write neighbouring words. `first` is a multiple of [`GROUP`]: a caller with little room
    /// takes some keys at a time.
    ///
    /// Each node of a tree is expanded once, 2 (2^(bits - 7) - 1) AES blocks in all, and none for a truth table, whose
    /// neighbouring bits differ at α alone.
    ///
    /// # Errors
    /// See [`FssOps`].
    fn cmp_eval_all(
        &self,
        params: &CmpAllParams,
        roots: Ref<'_, Self, Label>,
        corrections: Ref<'_, Self, u128>,
        leaves: Ref<'_, Self, u128>,
        units: Mut<'_, Self, u128>,
    ) -> Result<(), BackendError>;

    /// Makes the common sections of CMP keys for the secrets `alphas`, `u64[count]`, read modulo 2^bits.
    ///
    /// `roots` is `Label[2][P]`, party 0 first: uniform, independent words, fresh for each batch. Trees ignore the two
    /// low bits of a root; a truth table takes its randomness from all bits of the root of party 0. `leaves` receives
    /// `u128[2][P]` for every width: the corrections of the two leaf blocks, common to both parties, or, for at most 7
    /// bits, the truth tables of party 0 and then those of party 1, each of which is a secret of that party. Sections of
    /// the keys `count .. P` are those of α = 0.
    ///
    /// # Errors
    /// See [`FssOps`].
    fn cmp_gen(
        &self,
        params: &CmpParams,
        alphas: Ref<'_, Self, u64>,
        roots: Ref<'_, Self, Label>,
        corrections: Mut<'_, Self, u128>,
        leaves: Mut<'_, Self, u128>,
    ) -> Result<(), BackendError>;

    /// One party's additive shares modulo 2^width of β·1\[y < α\] for the secrets α, β of each key and every point y.
    ///
    /// `shares` is `u64[m][L][count]`.
    ///
    /// # Errors
    /// See [`FssOps`].
    #[expect(clippy::too_many_arguments, reason = "one view for each section of a key")]
    fn dcf_eval(
        &self,
        params: &DcfParams,
        roots: Ref<'_, Self, Label>,
        corrections: Ref<'_, Self, u128>,
        values: Ref<'_, Self, u64>,
        last: Ref<'_, Self, u64>,
        points: Ref<'_, Self, u64>,
        shares: Mut<'_, Self, u64>,
    ) -> Result<(), BackendError>;

    /// As [`dcf_eval`](Self::dcf_eval) with the same shares, at the points of
    /// [`cmp_eval_window`](Self::cmp_eval_window), under the same promise.
    ///
    /// With b = ceil(L / 2), it takes (1 + b) (2 (bits - window) + m window) + b m AES blocks.
    ///
    /// # Errors
    /// See [`FssOps`].
    #[expect(clippy::too_many_arguments, reason = "one view for each section of a key")]
    fn dcf_eval_window(
        &self,
        params: &DcfWindowParams,
        roots: Ref<'_, Self, Label>,
        corrections: Ref<'_, Self, u128>,
        values: Ref<'_, Self, u64>,
        last: Ref<'_, Self, u64>,
        x_hat: Ref<'_, Self, u64>,
        offsets: Ref<'_, Self, u64>,
        shares: Mut<'_, Self, u64>,
    ) -> Result<(), BackendError>;

    /// Makes the common sections of DCF keys for the secrets `alphas`, `u64[count]`, and `betas`, `u64[L][count]`.
    ///
    /// `roots` is `Label[2][P]`, party 0 first: uniform, independent words, fresh for each batch; the two low bits are
    /// ignored. Sections of the keys `count .. P` are those of α = 0, β = 0.
    ///
    /// # Errors
    /// See [`FssOps`].
    #[expect(clippy::too_many_arguments, reason = "one view for each section of a key")]
    fn dcf_gen(
        &self,
        params: &DcfParams,
        alphas: Ref<'_, Self, u64>,
        betas: Ref<'_, Self, u64>,
        roots: Ref<'_, Self, Label>,
        corrections: Mut<'_, Self, u128>,
        values: Mut<'_, Self, u64>,
        last: Mut<'_, Self, u64>,
    ) -> Result<(), BackendError>;

    /// Expands a seed: words `2i` and `2i + 1` are the low and high half of AES(first + i), the counter being a 128-bit
    /// little-endian block that wraps; an odd last word is a low half.
    ///
    /// # Errors
    /// See [`FssOps`].
    fn aes_ctr_fill(&self, params: &AesCtrParams, words: Mut<'_, Self, u64>) -> Result<(), BackendError>;

    /// Packs the low `bits` bits of `count` elements into a dense little-endian bit stream, element `i` at bit
    /// `i * bits`, in `ceil(count * bits / 64)` words whose unused bits are zero.
    ///
    /// # Errors
    /// See [`FssOps`].
    fn pack_bits(
        &self,
        params: &PackParams,
        elements: Ref<'_, Self, u64>,
        words: Mut<'_, Self, u64>,
    ) -> Result<(), BackendError>;

    /// The inverse of [`pack_bits`](Self::pack_bits): elements below 2^bits.
    ///
    /// # Errors
    /// See [`FssOps`].
    fn unpack_bits(
        &self,
        params: &PackParams,
        words: Ref<'_, Self, u64>,
        elements: Mut<'_, Self, u64>,
    ) -> Result<(), BackendError>;
}
