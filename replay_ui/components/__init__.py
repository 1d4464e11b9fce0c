"""What the pages are made of: blocks of plain data, and the component that shows them."""
