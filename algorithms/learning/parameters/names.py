"""Names of the algorithms whose constants are built in."""

VALOR = "valor"
CONSTRAINED = "valor-constrained"
