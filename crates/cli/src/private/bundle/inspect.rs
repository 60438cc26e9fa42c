//! What `trefoil pfss inspect` shows of bundles and of the folders of `gen`.

use std::{
    io::{self, Write as _},
    path::Path,
};

use anyhow::Result;
use inference::folder::hex;
use pfss::KeyBundle;
use serde::Serialize;
use serde_json::{Value, json};

use super::folder::{is_used, read_bundle, read_bundles, read_gate, read_peer};

/// The public facts about a bundle; none of them depends on the keys.
#[derive(Debug, Serialize)]
struct BundleFacts {
    party: u8,
    gate: GateFacts,
    count: usize,
    nonce: String,
    gate_digest: String,
    bytes: usize,
    sections: Vec<SectionFacts>,
    element: Element,
    total: Total,
}

#[derive(Debug, Serialize)]
struct GateFacts {
    kind: String,
    bits: u32,
    output_bits: u32,
    f: u32,
    degree: u32,
    masks: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    descriptor: Option<Descriptor>,
}

#[derive(Debug, Serialize)]
struct Descriptor {
    words: Vec<String>,
    bools: Vec<String>,
    predicates: usize,
    pieces: usize,
    input_bits: u32,
    modes: [String; 3],
}

#[derive(Debug, Serialize)]
struct SectionFacts {
    name: &'static str,
    element_bytes: u32,
    dims: [u64; 3],
    offset: u64,
    bytes: u64,
}

/// What one element costs this party.
#[derive(Debug, Serialize)]
struct Element {
    key_bits: u64,
    aes_blocks: u64,
    input_bits: u64,
    masked_bits: u64,
    rounds: u64,
}

/// What all elements cost this party.
#[derive(Debug, Serialize)]
struct Total {
    key_bytes: u64,
    aes_blocks: u64,
    sent_bytes: u64,
}

/// Shows the purpose of a bundle.
pub(crate) fn bundle(path: &Path) -> Result<Value> {
    let facts = BundleFacts::of(&read_bundle(path)?);
    facts.print()?;
    Ok(serde_json::to_value(facts)?)
}

/// Shows the purpose of a party's folder.
///
/// Used keys are gone, but their computation is still recorded.
pub(crate) fn folder(path: &Path) -> Result<Value> {
    let (computation, used, peer) = (read_gate(path)?, is_used(path), read_peer(path)?.to_string());
    let name = computation.name();
    let mut facts = Vec::new();
    writeln!(io::stdout(), "keys     {name}{}", if used { ", used" } else { "" })?;
    writeln!(io::stdout(), "peer     {peer}")?;
    if !used {
        for bundle in read_bundles(path, &computation)? {
            let bundle = BundleFacts::of(&bundle);
            bundle.print()?;
            facts.push(bundle);
        }
    }
    Ok(json!({"keys": name, "used": used, "peer": peer, "bundles": facts}))
}

impl BundleFacts {
    fn of(bundle: &KeyBundle) -> Self {
        let (gate, count) = (bundle.gate(), bundle.count());
        let cost = gate.cost();
        let sections = bundle.sections().into_iter().map(|section| SectionFacts {
            name: section.name,
            element_bytes: section.element_bytes,
            dims: section.dims,
            offset: section.offset,
            bytes: section.bytes,
        });
        Self {
            party: bundle.party().number(),
            gate: GateFacts::of(gate),
            count,
            nonce: hex(&bundle.nonce()),
            gate_digest: hex(&gate.digest()),
            bytes: bundle.byte_len(),
            sections: sections.collect(),
            element: Element {
                key_bits: cost.key_bits,
                aes_blocks: cost.aes,
                input_bits: cost.input_bits,
                masked_bits: cost.masked_bits,
                rounds: cost.rounds,
            },
            total: Total {
                key_bytes: (cost.key_bits * count as u64).div_ceil(8),
                aes_blocks: cost.aes * count as u64,
                sent_bytes: gate.traffic(count).0,
            },
        }
    }

    fn print(&self) -> Result<()> {
        let mut out = io::stdout().lock();
        let GateFacts { kind, bits, output_bits, f, degree, masks, descriptor } = &self.gate;
        writeln!(out, "gate     {kind}, {bits} bits to {output_bits}, f {f}, degree {degree}, masks {masks}")?;
        if let Some(Descriptor { words, bools, predicates, pieces, input_bits, modes }) = descriptor {
            writeln!(out, "outputs  words {words:?}, bits {bools:?}")?;
            writeln!(out, "shape    {pieces} pieces, {predicates} predicates, inputs of {input_bits} bits")?;
            writeln!(out, "modes    {}", modes.join(", "))?;
        }
        writeln!(out, "party    {}", self.party)?;
        writeln!(out, "count    {}", self.count)?;
        writeln!(out, "nonce    {}", self.nonce)?;
        writeln!(out, "digest   {} of the gate", self.gate_digest)?;
        for SectionFacts { name, element_bytes, dims: [a, b, c], offset, bytes } in &self.sections {
            writeln!(out, "section  {name:20} {bytes:>10} bytes at {offset}: {a} x {b} x {c} of {element_bytes}")?;
        }
        let Element { key_bits, aes_blocks, input_bits, masked_bits, rounds } = &self.element;
        writeln!(
            out,
            "element  {:.3} bytes of keys, {aes_blocks} AES blocks, {input_bits} + {masked_bits} bits sent, {rounds} rounds",
            *key_bits as f64 / 8.0
        )?;
        let Total { key_bytes, aes_blocks, sent_bytes } = &self.total;
        writeln!(
            out,
            "total    {} bytes, {key_bytes} of them keys; {aes_blocks} AES blocks, {sent_bytes} bytes sent",
            self.bytes
        )?;
        Ok(())
    }
}

impl GateFacts {
    fn of(gate: &pfss::Gate) -> Self {
        let descriptor = gate.program().map(|program| {
            let (desc, modes) = (program.desc(), program.modes());
            Descriptor {
                words: desc.words().to_vec(),
                bools: desc.bools().to_vec(),
                predicates: desc.preds().len(),
                pieces: desc.pieces().len(),
                input_bits: program.domain().bits(),
                modes: [format!("{:?}", modes.preds), format!("{:?}", modes.coeffs), format!("{:?}", modes.bools)],
            }
        });
        Self {
            kind: gate.kind().to_string(),
            bits: gate.n(),
            output_bits: gate.out_ring().bits(),
            f: gate.f(),
            degree: gate.degree(),
            masks: gate.masks(),
            descriptor,
        }
    }
}
