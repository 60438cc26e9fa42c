//! STARK proofs: only the committed proof verifies.
//!
//! Verifying never panics under any parameters.

use core_types::air::{Air, BaseValue, Row};
use stark_verifier::{Component, Inputs, PcsConfig, Preprocessed, Proof, Protocol, VerificationError, Verifier};

/// Of the seeds: 16 rows of three columns.
struct Fibonacci;

impl Air for Fibonacci {
    fn log_rows(&self) -> u32 {
        4
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let (a, b, c) = (row.column(), row.column(), row.column());
        row.constraint(c - a.square() - b.square());
    }
}

/// Checks one input.
pub fn check_input(bytes: &[u8]) {
    let read = if bytes.first() == Some(&b'{') {
        serde_json::from_slice(bytes).ok()
    } else {
        postcard::from_bytes(bytes).ok()
    };
    let Some(proof): Option<Proof> = read else { return };
    let accepted = check(PcsConfig::default(), &proof).is_some_and(|verdict| verdict.is_ok());
    if accepted {
        let seed: Proof = postcard::from_bytes(include_bytes!("../seeds/stark_proof/fibonacci")).expect("the seed");
        assert!(proof == seed, "a proof that stwo did not make is accepted");
    }
    // The proof states its own parameters; none may be too much for the verifier.
    check(proof.config, &proof);
}

/// The verdict on a proof, or `None` where there are no proofs with these parameters.
fn check(config: PcsConfig, proof: &Proof) -> Option<Result<(), VerificationError>> {
    let components = vec![Component::new(&Fibonacci, &[])];
    let verifier = Verifier::new(Protocol::V2_3, config, Preprocessed::default(), components).ok()?;
    let verdict = verifier.begin(proof).and_then(|mut session| {
        session.commit();
        session.channel().mix_u32s(&[Fibonacci.log_rows()]);
        session.commit();
        session.finish(&[Inputs::default()])
    });
    Some(verdict)
}
