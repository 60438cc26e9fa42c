//! The bytes of a file: JSON, or binary after a mark that no text begins with.

use super::{FileError, ProofFile};

/// The first bytes of binary files. The very first occurs in no UTF-8 text.
const MARK: &[u8; 8] = b"\xf5TRPROOF";

/// The encoding of a file. Readers detect it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileEncoding {
    /// JSON, and a line feed: text that stwo's serde reads the proof from.
    #[default]
    Json,
    /// [Postcard](https://postcard.jamesmunns.com/wire-format), about a third of the size.
    Binary,
}

impl ProofFile {
    /// The most bytes of a file. Parsing a hostile file takes up to ten times as much memory.
    pub const MOST_BYTES: usize = 1 << 27;

    /// The bytes of the file.
    ///
    /// ```
    /// use stark::{FileEncoding, KnownStatement, M31, PcsConfig, ProofFile, Protocol, StatementProver};
    /// use stark_airs::StateMachine;
    ///
    /// let (log_steps, first) = ([4, 4], [5, 7].map(M31::from_u32));
    /// let machine = StateMachine::new(log_steps, first)?;
    /// let q = runtime::cpu()?;
    /// let mut prover = StatementProver::new(&q, Protocol::V2_3, PcsConfig::default(), &machine)?;
    /// let proof = prover.prove(&q, &machine.trace())?;
    /// let file = ProofFile { statement: KnownStatement::StateMachine { log_steps, first }, proof };
    ///
    /// let [json, binary] = [FileEncoding::Json, FileEncoding::Binary].map(|encoding| file.to_bytes(encoding));
    /// let (json, binary) = (json?, binary?);
    /// assert!(binary.len() < json.len() / 2);
    /// assert_eq!([ProofFile::from_bytes(&json)?, ProofFile::from_bytes(&binary)?], [file.clone(), file]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FileError::Size`] for more than [`MOST_BYTES`](Self::MOST_BYTES), which take fewer queries
    /// or columns.
    pub fn to_bytes(&self, encoding: FileEncoding) -> Result<Vec<u8>, FileError> {
        let bytes = match encoding {
            FileEncoding::Json => serde_json::to_vec(self).map(|json| [&json[..], b"\n"].concat()).map_err(refused),
            FileEncoding::Binary => postcard::to_extend(self, MARK.to_vec()).map_err(refused),
        };
        bytes.and_then(sized)
    }

    /// Reads the bytes of a file in either encoding, and nothing after it.
    ///
    /// # Errors
    /// [`FileError::Size`] for more than [`MOST_BYTES`](Self::MOST_BYTES), [`FileError::Encoding`]
    /// for anything but a file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FileError> {
        let bytes = sized(bytes)?;
        let Some(binary) = bytes.strip_prefix(MARK) else { return serde_json::from_slice(bytes).map_err(refused) };
        match postcard::take_from_bytes(binary).map_err(refused)? {
            (file, []) => Ok(file),
            (_, rest) => Err(refused(format!("expected the end of the file, got {} more bytes", rest.len()))),
        }
    }
}

fn sized<B: AsRef<[u8]>>(bytes: B) -> Result<B, FileError> {
    let (most, got) = (ProofFile::MOST_BYTES, bytes.as_ref().len());
    if got <= most { Ok(bytes) } else { Err(FileError::Size { most, got }) }
}

fn refused(error: impl core::fmt::Display) -> FileError {
    FileError::Encoding { reason: error.to_string() }
}
