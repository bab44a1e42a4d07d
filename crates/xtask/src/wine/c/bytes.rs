//! Tests the cost of checks in a program: instructions, bytes of table, relocations.

use anyhow::{Context, Result, ensure};

use super::{Headers, Program};
use crate::wine::RUST;

impl Headers<'_> {
    /// Tests that more sites add no relocations for the loader. A table of pointers is the control: it adds one for each pointer.
    pub(super) fn relocations(&self) -> Result<()> {
        let count = |flags: &str| -> Result<(usize, usize)> {
            let program = self.build(&Program { compiler: "clang-19", flags, files: "many.c" })?;
            let said = self.objdump("-p", &program)?;
            let relocations = said.lines().filter(|line| line.contains(" DIR64")).count();
            let sections = self.objdump("-h", &program)?;
            let table = sections.lines().find_map(|line| line.split_once(" .rsrc_jt "));
            let bytes = table.and_then(|(_, rest)| usize::from_str_radix(rest.split_whitespace().next()?, 16).ok());
            Ok((relocations, bytes.context("no .rsrc_jt")?))
        };
        let (few, many, pointers) = (count("-O1")?, count("-O1 -DCHECKS")?, count("-O1 -DPOINTERS")?);
        ensure!(few.0 > 10 && pointers.0 == few.0 + 1024, "{few:?} {pointers:?}");
        ensure!(many == (few.0, few.1 + 2 * 1023 * 16), "{few:?} {many:?}");
        println!(
            "{RUST}, in C: 2,046 more checks, {} relocations more, {} bytes of table",
            many.0 - few.0,
            many.1 - few.1
        );
        Ok(())
    }

    /// Tests that a check is one nop of five bytes, and that the rest of the function is the same as without a check.
    pub(super) fn instructions(&self) -> Result<()> {
        let source = format!("{}/target/wine/nop.c", crate::root().display());
        self.sh.write_file(
            &source,
            "#include <jumplabel.h>\nstatic DEFINE_STATIC_KEY_FALSE(key);\nint check(void)\n{\n#ifdef CHECKS\n\t\
             if (static_branch_unlikely(&key))\n\t\treturn 2;\n#endif\n\treturn 1;\n}\n\n\
             int main(void)\n{\n\tstatic_branch_enable(&key);\n\treturn check();\n}\n",
        )?;
        let hot = |flags: &str| -> Result<Vec<String>> {
            let program = self.build(&Program { compiler: "clang-19", flags, files: &source })?;
            let said = self.objdump("-d", &program)?;
            let (_, function) = said.split_once("<check>:\n").context("no function")?;
            let bytes = function.lines().map(|line| line.split('\t').nth(1).unwrap_or_default().trim().to_owned());
            let end = |line: &String| line.as_str() != "c3";
            Ok(bytes.take_while(end).collect())
        };
        let (with, without) = (hot("-O2 -fomit-frame-pointer -DCHECKS")?, hot("-O2 -fomit-frame-pointer")?);
        let nops = with.iter().filter(|bytes| *bytes == "0f 1f 44 00 00").count();
        let others = with.iter().filter(|bytes| *bytes != "0f 1f 44 00 00");
        ensure!(nops == 1 && others.eq(&without), "{with:?} {without:?}");
        println!("{RUST}, in C: a check is one nop");
        Ok(())
    }
}
