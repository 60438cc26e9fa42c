//! STARK proof files: only the committed proofs verify with the default parameters.
//!
//! Reading and verifying never panics. An accepted file is read again unchanged.

use std::sync::LazyLock;

use backend_api::Budget;
use cpu_backend::{CpuConfig, CpuQueue};
use stark::{FileEncoding, KnownStatement, PcsConfig, ProofFile};

/// Room for the preprocessed columns of small statements.
static QUEUE: LazyLock<CpuQueue> = LazyLock::new(|| {
    CpuQueue::open(CpuConfig { budget: Budget::new(1 << 22), ..CpuConfig::default() }).expect("a queue")
});

/// The committed files.
static SEEDS: LazyLock<Vec<ProofFile>> = LazyLock::new(|| {
    let seeds: [&[u8]; 3] = [
        include_bytes!("../seeds/stark_file/wide-fibonacci.json"),
        include_bytes!("../seeds/stark_file/state-machine.json"),
        include_bytes!("../seeds/stark_file/plonk.json"),
    ];
    seeds.map(|seed| ProofFile::from_bytes(seed).expect("a file of a proof")).into()
});

/// Whether the circuit of a statement, which is made before anything is checked, is small.
fn is_small(statement: &KnownStatement) -> bool {
    !matches!(statement, KnownStatement::Plonk { gates, .. } if (1 << 10..=1 << KnownStatement::MOST_LOG_GATES).contains(gates))
}

/// Checks one input.
pub fn check_input(bytes: &[u8]) {
    let Ok(file) = ProofFile::from_bytes(bytes) else { return };
    for encoding in [FileEncoding::Json, FileEncoding::Binary] {
        let written = file.to_bytes(encoding).expect("a file is written");
        assert!(ProofFile::from_bytes(&written).is_ok_and(|read| read == file), "read again as another");
    }
    let accepted = is_small(&file.statement) && file.verify_with_security(&*QUEUE, 0).is_ok();
    // With weaker parameters a proof may be right by chance.
    if accepted && file.proof.proof.config == PcsConfig::default() {
        assert!(SEEDS.contains(&file), "a proof that nobody made is accepted");
    }
}
