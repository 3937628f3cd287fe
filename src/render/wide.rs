//! The table with its wide columns and blocks. It must not differ from `table` in anything else.

use std::io::{self, Write};

use super::{Style, table};
use crate::block::Block;

pub(crate) fn render(blocks: &[Block], style: &Style, out: &mut dyn Write) -> io::Result<()> {
    table::render(
        blocks,
        &Style {
            wide: true,
            ..*style
        },
        out,
    )
}
