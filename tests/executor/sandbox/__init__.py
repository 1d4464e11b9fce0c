"""Specifications of the foreign systems that we practise on."""
