//! From the compiler's text to the text that ships.

use anyhow::{Context, Result, ensure};
use ptx::{
    ast::{self, FunctionKind},
    rewrite,
};

use super::{
    manifest,
    manifest::Manifest,
    module::Module,
    signature::Signatures,
    table::{self, Record},
};

/// PTX and manifest of a module.
pub(super) struct Finished {
    pub(super) module: Module,
    pub(super) ptx: String,
    pub(super) manifest: Manifest,
}

/// Turns the compiler's PTX into the finished `modules`.
///
/// It takes the records of kernels out, gives each module its kernels, inserts the launch bounds,
/// drops everything that no kernel reaches and normalises names.
pub(super) fn finish(modules: &[Module], compiler: &str, raw: &str, signatures: &Signatures) -> Result<Vec<Finished>> {
    let mut whole = ptx::parse(raw).context("the compiler's PTX")?;
    let records = take_records(&mut whole)?;
    for record in &records {
        let held = modules.iter().filter(|module| module.holds(&record.name)).count();
        ensure!(held == 1, "expected one module with kernel `{}`, got {held}", record.name);
    }
    modules.iter().map(|&module| part(module, compiler, &whole, &records, signatures)).collect()
}

/// The kernels of `whole` that are of `module`.
fn part(
    module: Module,
    compiler: &str,
    whole: &ast::Module,
    records: &[Record],
    signatures: &Signatures,
) -> Result<Finished> {
    let records: Vec<_> = records.iter().filter(|record| module.holds(&record.name)).collect();
    let mut tree = whole.clone();
    tree.functions.retain(|function| function.kind != FunctionKind::Entry || module.holds(&function.name));
    let specs = records.iter().map(|record| (&*record.name, record.block, record.min_blocks, record.barriers));
    rewrite::prepare(&mut tree, &manifest::table(specs))?;
    let ptx = ptx::print(&tree);
    let manifest = Manifest::new(module.name(), compiler, &ptx, &tree, &records, signatures)?;
    Ok(Finished { module, ptx, manifest })
}

/// Removes the records of all kernels from the module, and returns them.
fn take_records(tree: &mut ast::Module) -> Result<Vec<Record>> {
    let is_record = |variable: &mut ast::Variable| variable.name.starts_with(table::PREFIX);
    let variables: Vec<_> = tree.globals.extract_if(.., is_record).collect();
    let record = |variable: &ast::Variable| {
        let mut bytes = variable.image().bytes;
        bytes.resize(usize::try_from(variable.bytes())?, 0); // zeros at the end are left out
        table::decode(variable.name.trim_start_matches(table::PREFIX), &bytes)
    };
    let records: Vec<Record> = variables.iter().map(record).collect::<Result<_>>()?;
    for (kernel, _) in tree.entries() {
        let recorded = records.iter().any(|record| record.name == *kernel.name);
        ensure!(recorded, "kernel `{}` is in no `kernel_table!`", kernel.name);
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build_ptx::signature;

    const CIRCLE: Module = Module::ALL[0];

    fn raw(name: &str) -> String {
        let words = [64_u32, 2, 1, 3, 1, 512, 1];
        let bytes: Vec<String> = words.into_iter().flat_map(u32::to_le_bytes).map(|byte| byte.to_string()).collect();
        format!(
            ".version 7.0\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .b8 dyn_smem[];\n\
             .visible .global .align 4 .b8 KERNEL_RECORD_{name}[28] = {{{}}};\n\
             .global .align 4 .b8 unused[4] = {{1}};\n\
             .visible .entry scale(\n.param .u64 .ptr .align 1 scale_param_0,\n.param .u32 scale_param_1\n)\n\
             {{\n.reg .b32 %r<2>;\nbar.sync 0;\nret;\n}}\n",
            bytes.join(", ")
        )
    }

    const SOURCE: &str = "extern \"ptx-kernel\" fn scale(x: *mut f32, len: u32) {}";

    fn finished(modules: &[Module], name: &str, source: &str) -> Result<Vec<Finished>> {
        finish(modules, "some compiler", &raw(name), &signature::read(source)?)
    }

    #[test]
    fn records_become_bounds_and_a_manifest() {
        let finished = finished(&[CIRCLE], "scale", SOURCE).unwrap().remove(0);
        assert!(finished.ptx.contains(".maxntid 64, 2, 1") && finished.ptx.contains(".minnctapersm 3"));
        assert!(!finished.ptx.contains("KERNEL_RECORD") && !finished.ptx.contains("unused"), "{}", finished.ptx);
        let json = finished.manifest.render().unwrap();
        assert_eq!(Manifest::parse(&json).unwrap(), finished.manifest);
        assert!(finished.manifest.expect(&finished.ptx).is_ok());
        assert!(finished.manifest.expect("another text").is_err());
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["kernels"][0]["dynamic_shared"], 512);
        assert_eq!(
            value["kernels"][0]["params"][1],
            serde_json::json!({ "name": "len", "kind": "value", "type": "u32", "offset": 8, "size": 4, "align": 4 })
        );
        let findings = ptx::lint::check(&ptx::parse(&finished.ptx).unwrap(), &finished.manifest.table());
        assert_eq!(findings, []);
    }

    #[test]
    fn a_kernel_of_no_module_or_of_two_is_refused() {
        assert!(finished(&[], "scale", SOURCE).is_err());
        assert!(finished(&[CIRCLE; 2], "scale", SOURCE).is_err());
    }

    #[test]
    fn a_kernel_that_the_source_lacks_or_gives_other_parameters_is_refused() {
        assert!(finished(&[CIRCLE], "scale", "").is_err());
        assert!(finished(&[CIRCLE], "scale", "extern \"ptx-kernel\" fn scale(x: *mut f32) {}").is_err());
    }

    #[test]
    fn a_kernel_without_a_record_and_a_record_without_a_kernel_are_refused() {
        assert!(finished(&[CIRCLE], "other", SOURCE).is_err());
        let unrecorded = raw("scale").replace("KERNEL_RECORD_scale", "scales");
        let refused = finish(&[CIRCLE], "some compiler", &unrecorded, &signature::read(SOURCE).unwrap());
        assert!(refused.err().unwrap().to_string().contains("`scale` is in no `kernel_table!`"));
        let two = raw("scale").replace("unused[4] = {1}", "KERNEL_RECORD_other[28] = {64, 0, 0, 0, 1, 0, 0, 0, 1}");
        let refused = finish(&[CIRCLE], "some compiler", &two, &signature::read(SOURCE).unwrap());
        assert!(refused.is_err());
    }
}
