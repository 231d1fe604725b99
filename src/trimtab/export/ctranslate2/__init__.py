"""`--to ctranslate2`: translators for CTranslate2."""
